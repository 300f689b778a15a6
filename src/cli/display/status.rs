//! Status lines between turns.

use std::time::Duration;

use roundtable_engine::event::Spent;
use roundtable_engine::remarks::{plain_rule, rule_of};
use roundtable_engine::report::Fact;
use roundtable_engine::round_value;
use roundtable_engine::tools::{Answered, Exchange};
use roundtable_engine::totals::Sum;
use roundtable_engine::transcript::{Planned, round_label};
use serde_json::Value;

use super::super::output::{self, QUIET, painted};
use crate::embedded;
use crate::estimate;

/// `●●○○○ round 2 of 3–5`
pub(super) fn timeline(round: u32, name: &str, planned: Option<Planned>) -> String {
    let label = round_label(name);
    let Some(Planned { least, most }) = planned else {
        return format!("round {round}");
    };
    if round == 0 {
        return "blind vote".to_owned();
    }
    if round > most {
        return extra_round(name);
    }
    let dots: String = (1..=most)
        .map(|number| if number <= round { '●' } else { '○' })
        .collect();
    let of = if least == most || round > least {
        format!("{dots} round {round} of {most}")
    } else {
        format!("{dots} round {round} of {least}–{most}")
    };
    if is_extra(name) {
        format!("{of}: {label}")
    } else {
        of
    }
}

/// A round beyond the planned ones, with its purpose if it has one.
pub(super) fn extra_round(name: &str) -> String {
    if is_extra(name) {
        format!("extra round: {}", round_label(name))
    } else {
        "extra round".to_owned()
    }
}

/// Whether the round is played for a reason of its own, which is worth announcing.
pub(super) fn is_extra(name: &str) -> bool {
    round_label(name) != name
}

/// `open: 1 critical, 2 minor · 3,210 tokens · free · 2.1 s`, and the speed of an embedded model: `9 tokens/s`
pub(super) fn line(facts: &[Fact], sum: &Sum, last: &Spent, model: &str) -> String {
    let mut parts: Vec<String> = facts
        .iter()
        .map(|fact| {
            let name = fact.name.to_lowercase();
            output::short(&format!("{name}: {}", fact.value), 60)
        })
        .collect();
    let tokens = sum.usage.total();
    if tokens > 0 {
        parts.push(format!("{} tokens so far", output::grouped(tokens)));
    }
    parts.extend(output::cost(sum.cost, tokens));
    parts.push(output::duration(last.latency_ms));
    if embedded::name_of(model).is_some() {
        let time = Duration::from_millis(last.latency_ms);
        parts.extend(tokens_per_second(last.usage.output, time));
    }
    if last.retries > 0 {
        parts.push(if last.retries == 1 {
            "1 retry".to_owned()
        } else {
            format!("{} retries", last.retries)
        });
    }
    format!("  {}", parts.join(" · "))
}

/// `9 tokens/s`
pub(super) fn tokens_per_second(tokens: u64, time: Duration) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand tokens")]
    let rate = tokens as f64 / time.as_secs_f64();
    let is_measured = tokens > 0 && rate.is_finite();
    is_measured.then(|| format!("{} tokens/s", estimate::rate(rate)))
}

/// What is wrong with a reply after its second try.
pub(super) fn broken_rules(remarks: &[String]) -> Option<String> {
    if remarks.is_empty() {
        return None;
    }
    let mut faults: Vec<&str> = remarks
        .iter()
        .map(|remark| plain_rule(rule_of(remark).unwrap_or_default()))
        .collect();
    faults.dedup();
    let faults = faults.join("; ");
    Some(format!("also after a second try: {faults}"))
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
    if let Some((_, value)) = round_value::of_note(key, value) {
        output::note(&painted(QUIET, &value.to_text()));
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
        // Nothing that the user could act on.
        (None, true) => return,
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

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
