//! A debate as a document: Markdown, or one HTML file that needs nothing else.

mod chart;
mod html;

use std::fmt::Write;

use roundtable_engine::protocols::dialectic::Trace;

pub(crate) use html::html;

/// The whole debate as Markdown: question, answer, issues, transcript, figures.
pub(crate) fn markdown(trace: &Trace) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "# {}\n", one_line(&trace.query));
    if one_line(&trace.query) != trace.query {
        let _ = writeln!(out, "{}\n", quoted(&trace.query));
    }
    let _ = writeln!(
        out,
        "*{} · {} · {} rounds*\n",
        trace.timestamp,
        trace.state.name(),
        trace.total_rounds
    );
    match &trace.final_answer {
        Some(answer) => drop(writeln!(out, "## Answer\n\n{}\n", answer.trim())),
        None => drop(writeln!(out, "There is no answer.\n")),
    }
    if let Some(reason) = &trace.reason {
        let _ = writeln!(out, "**Not complete:** {reason}\n");
    }
    issues(&mut out, trace);
    transcript(&mut out, trace);
    figures(&mut out, trace);
    out
}

fn issues(out: &mut String, trace: &Trace) {
    let all = trace
        .result
        .as_ref()
        .map_or(&[][..], |result| result.issues.all());
    if all.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "## Issues\n\n| id | severity | status | what |\n|---|---|---|---|"
    );
    for issue in all {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            issue.id,
            issue.finding.severity.name(),
            issue.status.name(),
            one_line(&issue.finding.problem).replace('|', "\\|")
        );
    }
    out.push('\n');
}

fn transcript(out: &mut String, trace: &Trace) {
    let _ = writeln!(out, "## Transcript\n");
    for exchange in &trace.rounds {
        for (seat, text) in [
            ("Proposer", &exchange.proposer),
            ("Skeptic", &exchange.skeptic),
        ] {
            if let Some(text) = text {
                let _ = writeln!(
                    out,
                    "### Round {}, {seat}\n\n{}\n",
                    exchange.round,
                    quoted(text)
                );
            }
        }
    }
}

fn figures(out: &mut String, trace: &Trace) {
    let _ = writeln!(
        out,
        "## Figures\n\n| {} |\n|{}",
        COLUMNS.join(" | "),
        "---|".repeat(COLUMNS.len())
    );
    for row in seat_rows(trace) {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
}

const COLUMNS: [&str; 7] = [
    "seat",
    "model",
    "calls",
    "tokens in",
    "cached",
    "tokens out",
    "cost",
];

/// What each seat used, in the order of [`COLUMNS`].
fn seat_rows(trace: &Trace) -> impl Iterator<Item = [String; 7]> + '_ {
    trace.totals.seats.iter().map(|(seat, sum)| {
        let model = trace.models.get(seat).cloned().flatten();
        let cost = sum.cost.map(|cost| format!("${:.6}", cost.dollars()));
        [
            seat.clone(),
            model.unwrap_or_default(),
            sum.calls.to_string(),
            sum.usage.input.to_string(),
            sum.usage.cached.to_string(),
            sum.usage.output.to_string(),
            cost.unwrap_or_else(|| "unknown".into()),
        ]
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    text.lines()
        .map(|line| format!("> {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
