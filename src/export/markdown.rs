//! A debate as Markdown: question, answer, report, transcript, usage.
//!
//! Text of models stays Markdown, without HTML, images and links other than web links. It is quoted wherever its headings
//! would mix with ours.

use std::fmt::Write;

use roundtable_engine::report::{
    Align, Argument, Block, Card, Gauge, Place, Position, Report, Section, Table, Verdict,
};
use roundtable_engine::transcript::{Item, Outcome, Transcript, Turn};

use crate::clock;
use crate::format::{counted, one_line, short, usage};
use crate::render::markdown::{below_section, defused};

pub(crate) fn markdown(transcript: &Transcript, report: &Report) -> String {
    let mut out = String::new();
    let headline = short(&transcript.question, 180);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "# {}\n", inline(&headline));
    if headline != transcript.question {
        let _ = writeln!(out, "{}\n", quoted(&transcript.question));
    }
    let rounds = transcript
        .rounds
        .iter()
        .filter(|round| round.number.is_some());
    let _ = writeln!(
        out,
        "*{} · {} · {} · {}*\n",
        clock::stamp(transcript.opened_at),
        transcript.protocol,
        transcript.state.name(),
        counted(rounds.count(), "round")
    );
    if let Some(verdict) = &report.verdict {
        write_verdict(&mut out, verdict);
    }
    if let Some(reason) = &transcript.reason
        // Failures are in the verdict, in words.
        && report.verdict.as_ref().is_none_or(|verdict| verdict.failures.is_empty())
    {
        let _ = writeln!(out, "**Not complete:** {}\n", inline(reason));
    }
    match &report.answer {
        Some(answer) => {
            let answer = below_section(&defused(answer));
            let _ = writeln!(out, "## Answer\n\n{}\n", answer.trim());
        }
        None => drop(writeln!(out, "There is no answer.\n")),
    }
    write_argument(&mut out, &report.argument, transcript);
    write_report(&mut out, report);
    write_transcript(&mut out, transcript);
    write_section(&mut out, &usage(transcript));
    out
}

/// The verdict with the whole answer, to be pasted into another text.
pub(crate) fn verdict_markdown(transcript: &Transcript, report: &Report) -> String {
    let mut out = format!("# {}\n\n", inline(&short(&transcript.question, 180)));
    let Some(verdict) = &report.verdict else {
        return out;
    };
    write_verdict(&mut out, verdict);
    if let Some(answer) = &verdict.answer {
        let full = below_section(&defused(&answer.full));
        let _ = writeln!(out, "## {}\n\n{}", verdict.title(), full.trim());
    }
    out
}

/// How the answer was challenged, and how far to trust it.
fn write_verdict(out: &mut String, verdict: &Verdict) {
    let _ = writeln!(out, "## Verdict\n\n**{}**\n", inline(&verdict.badge.text));
    if let Some(answer) = &verdict.answer {
        if let Some(headline) = &answer.headline {
            let _ = writeln!(out, "**{}**\n", inline(headline));
        }
        let _ = writeln!(out, "{}\n", inline(&answer.short));
    }
    let mut item = |name: &str, text: &str, reason: Option<&str>| {
        let reason = reason.map_or_else(String::new, |reason| format!(": {}", inline(reason)));
        let _ = writeln!(out, "- {name}: {}{reason}", inline(text));
    };
    for failure in &verdict.failures {
        item("Failed", &failure.text, Some(&failure.reason));
    }
    if let Some(confidence) = &verdict.confidence {
        item(
            "Confidence",
            &confidence.shown,
            confidence.reason.as_deref(),
        );
    }
    if let Some(changed) = &verdict.changed {
        item("Change", &changed.text, None);
    }
    for dissent in &verdict.dissent {
        let text = format!("{}: {}", dissent.title, dissent.position);
        item("Dissent", &text, dissent.reason.as_deref());
    }
    for fact in &verdict.figures {
        item(&inline(&fact.name), &fact.value, None);
    }
    for caveat in &verdict.caveats {
        item("Caveat", caveat, None);
    }
    if let Some(ending) = &verdict.ending {
        item("Ending", ending, None);
    }
    out.push('\n');
}

/// The points with their stories, and the seats that changed position.
fn write_argument(out: &mut String, argument: &Argument, transcript: &Transcript) {
    if argument.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Argument\n");
    let said = |reason: &Option<String>| {
        let reason = reason.as_deref();
        reason.map_or_else(String::new, |reason| format!(": {}", inline(reason)))
    };
    for point in &argument.points {
        let label = point.label.iter().map(|label| format!("{label}, "));
        let label: String = label.collect();
        let state = inline(&format!("{label}{}", point.outcome.text));
        let _ = writeln!(
            out,
            "- **{}** ({state}): {}",
            inline(&point.id),
            inline(&point.text)
        );
        for episode in &point.story {
            let round = episode.round.map(|round| format!("Round {round}, "));
            let who = inline(&transcript.title_of(&episode.seat));
            let reason = said(&episode.reason);
            let _ = writeln!(
                out,
                "  - {}{who} {}{reason}",
                round.unwrap_or_default(),
                inline(&episode.action)
            );
        }
    }
    for moved in &argument.moves {
        let who = inline(&transcript.title_of(&moved.seat));
        let _ = writeln!(
            out,
            "- Changed position: {who} in round {}, {}{}",
            moved.round,
            inline(&moved.text),
            said(&moved.reason)
        );
    }
    out.push('\n');
}

/// A report on several debates.
pub(crate) fn report_markdown(title: &str, report: &Report) -> String {
    let mut out = format!("# {}\n\n", inline(title));
    write_report(&mut out, report);
    out
}

fn write_report(out: &mut String, report: &Report) {
    if !report.facts.is_empty() {
        let _ = writeln!(out, "## Key figures\n");
    }
    for fact in &report.facts {
        let _ = writeln!(out, "- {}: {}", inline(&fact.name), inline(&fact.value));
    }
    if !report.facts.is_empty() {
        out.push('\n');
    }
    for place in [Place::Main, Place::Side] {
        let sections = report.sections.iter();
        let here = sections.filter(|section| section.place == place);
        here.for_each(|section| write_section(out, section));
    }
}

fn write_section(out: &mut String, section: &Section) {
    let _ = writeln!(out, "## {}\n", inline(&section.title));
    for block in &section.blocks {
        match block {
            Block::Text { markdown } => drop(writeln!(out, "{}\n", quoted(markdown))),
            Block::Note { text, .. } => drop(writeln!(out, "{}\n", inline(text))),
            Block::Table(table) => write_table(out, table, &section.title),
            Block::Chart(chart) => write_table(out, &chart.table(), &section.title),
            Block::Opposed { positions } => write_positions(out, positions),
            Block::Gauges { gauges } => {
                write_table(out, &Gauge::table(&section.title, gauges), &section.title);
            }
            Block::Cards { cards } => {
                let positions: Vec<Position> = cards.iter().map(Card::as_position).collect();
                write_positions(out, &positions);
            }
        }
    }
}

fn write_positions(out: &mut String, positions: &[Position]) {
    for position in positions {
        let _ = writeln!(
            out,
            "**{}: {}**\n\n{}\n",
            inline(&position.role),
            inline(&position.stand),
            quoted(&position.markdown)
        );
    }
}

fn write_table(out: &mut String, table: &Table, title: &str) {
    if table.caption != title {
        let _ = writeln!(out, "*{}*\n", inline(&table.caption));
    }
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|column| inline(&column.name))
        .collect();
    let rules: Vec<&str> = table
        .columns
        .iter()
        .map(|column| match column.align {
            Align::Text => "---",
            Align::Number => "--:",
        })
        .collect();
    let _ = writeln!(out, "| {} |\n|{}|", names.join(" | "), rules.join("|"));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|cell| inline(&cell.text)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

fn write_transcript(out: &mut String, transcript: &Transcript) {
    let _ = writeln!(out, "## Transcript\n");
    for round in &transcript.rounds {
        if let Some(focus) = &round.focus {
            let _ = writeln!(
                out,
                "*Focus of {}:*\n\n{}\n",
                round.title().to_lowercase(),
                quoted(focus)
            );
        }
        for item in round.items() {
            match item {
                Item::Turn(turn) => write_turn(out, turn, &round.title()),
                Item::Voice(voice) => {
                    let who = voice.by.as_deref().unwrap_or("A person");
                    let _ = writeln!(out, "### {}, {}\n", round.title(), inline(who));
                    let _ = writeln!(out, "{}\n", quoted(&voice.text));
                }
            }
        }
    }
}

fn write_turn(out: &mut String, turn: &Turn, round: &str) {
    let _ = writeln!(out, "### {round}, {}\n", inline(&turn.title));
    if turn.instead_of.is_some() {
        let _ = writeln!(out, "*{}*\n", inline(&turn.answered_by()));
    }
    match &turn.outcome {
        Outcome::Said { text, remarks } => {
            let _ = writeln!(out, "{}\n", quoted(text));
            for remark in remarks {
                let _ = writeln!(out, "- {}", inline(remark));
            }
            if !remarks.is_empty() {
                out.push('\n');
            }
        }
        Outcome::Absent { reason } => {
            let _ = writeln!(out, "*Absent: {}*\n", inline(reason));
        }
    }
}

/// Plain text on a line of Markdown, with markup characters escaped.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '!' | '#'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn quoted(text: &str) -> String {
    defused(text)
        .trim_end()
        .lines()
        .map(|line| format!("> {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
