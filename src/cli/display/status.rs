//! Status lines between turns.

use roundtable_engine::event::Spent;
use roundtable_engine::report::Fact;
use roundtable_engine::tools::{Answered, Exchange};
use roundtable_engine::totals::Sum;
use roundtable_engine::transcript::Planned;
use serde_json::Value;

use super::super::output::{self, QUIET, painted};

/// `●●○○○ round 2 of 3–5`
pub(super) fn timeline(round: u32, planned: Option<Planned>) -> String {
    let Some(Planned { least, most }) = planned else {
        return format!("round {round}");
    };
    let dots: String = (1..=most)
        .map(|number| if number <= round { '●' } else { '○' })
        .collect();
    if round > most {
        format!("{dots} round {round}, an extra one")
    } else if least == most {
        format!("{dots} round {round} of {most}")
    } else {
        format!("{dots} round {round} of {least}–{most}")
    }
}

/// `open: 1 critical, 2 minor · 3,210 tokens · free · 2.1 s`
pub(super) fn line(facts: &[Fact], sum: &Sum, last: &Spent) -> String {
    let mut parts: Vec<String> = facts
        .iter()
        .map(|fact| {
            let name = fact.name.to_lowercase();
            output::short(&format!("{name}: {}", fact.value), 60)
        })
        .collect();
    parts.push(format!(
        "{} tokens so far",
        output::grouped(sum.usage.total())
    ));
    parts.push(output::money(sum.cost, sum.usage.total()));
    parts.push(output::duration(last.latency_ms));
    if last.retries > 0 {
        parts.push(if last.retries == 1 {
            "1 retry".to_owned()
        } else {
            format!("{} retries", last.retries)
        });
    }
    format!("  {}", parts.join(" · "))
}

/// Prints retrieved reasoning templates and tool calls.
pub(super) fn noted(key: &str, value: &Value) {
    if let Some((step, exchange)) = Exchange::of(key, value) {
        let seat = step.split('/').nth(1).unwrap_or(step);
        for answered in &exchange.calls {
            output::note(&painted(QUIET, &tool_call(seat, answered)));
        }
        return;
    }
    if key != "r0/retrieval" {
        return;
    }
    let hits: Vec<_> = value["hits"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|hit| hit["id"].as_str())
        .collect();
    let text = match (value["failure"].as_str(), hits.is_empty()) {
        (Some(reason), _) => format!("no reasoning templates: {reason}"),
        (None, true) => "no reasoning template matches this question".to_owned(),
        (None, false) => format!("reasoning templates: {}", hits.join(", ")),
    };
    output::note(&painted(QUIET, &text));
}

/// `analyst: search_sources {"query": "fees"} → fees.md:3-9`
fn tool_call(seat: &str, answered: &Answered) -> String {
    let result = if answered.passages.is_empty() {
        answered
            .answer
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    } else {
        answered.passages.join(", ")
    };
    let call = &answered.call;
    let request = output::short(&format!("{} {}", call.name, call.arguments), 80);
    format!("{seat}: {request} → {}", output::short(&result, 80))
}
