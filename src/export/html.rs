//! One self-contained HTML file: no script, nothing loaded from elsewhere, everything a model wrote escaped (C-12, C-14).

use std::fmt::Write;

use roundtable_core::issues::{Severity, Status};
use roundtable_engine::protocols::dialectic::Trace;

use super::chart::{Bar, bars, escape};
use super::{COLUMNS, seat_rows};

const STYLE: &str = "
:root{--ink:#1c1d22;--soft:#62656f;--line:#dfe1e6;--page:#fff;--card:#f6f7f9;--proposer:#2b5fd9;--skeptic:#a3369b;
--synthesizer:#187a48;--judge:#0d7285;--open:#c0271c}
@media(prefers-color-scheme:dark){:root{--ink:#e8e9ed;--soft:#a0a4b0;--line:#33363f;--page:#15161a;--card:#1e2026;
--proposer:#8fb0ff;--skeptic:#e59be0;--synthesizer:#74d3a0;--judge:#74cfe0;--open:#ff8a80}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:16px/1.6 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:2rem 1.25rem 4rem}h1{font-size:1.9rem;line-height:1.25;margin:.2em 0}
h2{font-size:1.1rem;margin:2.2rem 0 .6rem}.quiet,.meta{color:var(--soft);font-size:.85rem}
.answer{font-size:1.08rem;white-space:pre-wrap;overflow-wrap:anywhere}
.turn{border-left:3px solid var(--line);padding:.1rem 0 .1rem 1rem;margin:1rem 0}
.turn p{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0}.turn h3{margin:0;font-size:.9rem}
.proposer{border-color:var(--proposer)}.proposer h3{color:var(--proposer)}.skeptic{border-color:var(--skeptic)}
.skeptic h3{color:var(--skeptic)}table{border-collapse:collapse;width:100%;font-size:.9rem}
td,th{text-align:left;padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}
.open{color:var(--open);font-weight:600}svg{width:100%;height:auto}svg text{font-size:12px;text-anchor:middle;fill:var(--ink)}
svg text.quiet{fill:var(--soft)}rect.proposer{fill:var(--proposer)}rect.skeptic{fill:var(--skeptic)}
rect.synthesizer{fill:var(--synthesizer)}rect.judge{fill:var(--judge)}rect.other{fill:var(--soft)}
.scroll{overflow-x:auto}.warn{color:var(--open)}";

pub(crate) fn html(trace: &Trace) -> String {
    let mut body = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        body,
        "<p class=\"meta\">{} · {} · {} rounds</p><h1>{}</h1>",
        escape(&trace.timestamp),
        trace.state.name(),
        trace.total_rounds,
        escape(&trace.query)
    );
    if let Some(reason) = &trace.reason {
        let _ = write!(
            body,
            "<p class=\"warn\">Not complete: {}</p>",
            escape(reason)
        );
    }
    let answer = trace
        .final_answer
        .as_deref()
        .unwrap_or("There is no answer.");
    let _ = write!(
        body,
        "<section aria-label=\"Answer\"><p class=\"answer\">{}</p></section>",
        escape(answer)
    );
    worth(&mut body, trace);
    issues(&mut body, trace);
    transcript(&mut body, trace);
    figures(&mut body, trace);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n",
        escape(&trace.query.chars().take(80).collect::<String>())
    )
}

fn worth(body: &mut String, trace: &Trace) {
    let Some(result) = &trace.result else {
        return;
    };
    let _ = write!(
        body,
        "<p class=\"meta\">Ended after round {}: {}.",
        trace.total_rounds,
        escape(&result.stop_explanation)
    );
    if let Some(why) = &result.worth.change_reason {
        let _ = write!(body, " What the debate changed: {}", escape(why));
    }
    body.push_str("</p>");
}

fn issues(body: &mut String, trace: &Trace) {
    let all = trace
        .result
        .as_ref()
        .map_or(&[][..], |result| result.issues.all());
    if all.is_empty() {
        return;
    }
    body.push_str(
        "<h2>Issues</h2><div class=\"scroll\"><table><tr><th>id<th>severity<th>status<th>what</tr>",
    );
    for issue in all {
        let is_grave =
            issue.status != Status::Resolved && issue.finding.severity == Severity::Critical;
        let class = if is_grave { " class=\"open\"" } else { "" };
        let _ = write!(
            body,
            "<tr><td>{}<td{class}>{}<td>{}<td>{}</tr>",
            escape(&issue.id),
            issue.finding.severity.name(),
            issue.status.name(),
            escape(&issue.finding.problem)
        );
    }
    body.push_str("</table></div>");
}

fn transcript(body: &mut String, trace: &Trace) {
    body.push_str("<h2>What was said</h2>");
    for exchange in &trace.rounds {
        for (seat, title, text) in [
            ("proposer", "Proposer", &exchange.proposer),
            ("skeptic", "Skeptic", &exchange.skeptic),
        ] {
            if let Some(text) = text {
                let _ = write!(
                    body,
                    "<article class=\"turn {seat}\"><h3>{title}, round {}</h3><p>{}</p></article>",
                    exchange.round,
                    escape(text)
                );
            }
        }
    }
}

fn figures(body: &mut String, trace: &Trace) {
    let tokens: Vec<Bar> = trace
        .totals
        .seats
        .iter()
        .map(|(seat, sum)| Bar {
            label: seat.clone(),
            value: sum.usage.total(),
            class: match seat.as_str() {
                "proposer" => "proposer",
                "skeptic" => "skeptic",
                "synthesizer" => "synthesizer",
                "judge" => "judge",
                _ => "other",
            },
        })
        .collect();
    let times: Vec<Bar> = (1..)
        .zip(&trace.timing.rounds_ms)
        .map(|(round, ms): (u32, &u64)| Bar {
            label: format!("round {round}"),
            value: *ms,
            class: "other",
        })
        .collect();
    let _ = write!(
        body,
        "<h2>Figures</h2>{}{}",
        bars("Tokens by seat", "tokens", &tokens),
        bars("Time by round", "milliseconds", &times)
    );
    let _ = write!(
        body,
        "<div class=\"scroll\"><table><tr><th>{}</tr>",
        COLUMNS.join("<th>")
    );
    for row in seat_rows(trace) {
        let cells = row.map(|cell| escape(&cell));
        let _ = write!(body, "<tr><td>{}</tr>", cells.join("<td>"));
    }
    body.push_str("</table></div>");
}
