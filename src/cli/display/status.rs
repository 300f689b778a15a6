//! The small lines between the turns.

use roundtable_engine::event::Spent;
use roundtable_engine::protocols::dialectic::Follower;
use roundtable_engine::totals::Sum;
use serde_json::Value;

use super::super::output::{self, QUIET, painted};

/// `●●○○○ round 2 of 3–5`
pub(super) fn timeline(round: u32, (least, most): (u64, u64)) -> String {
    let played = u64::from(round).min(most);
    let dots: String = (1..=most)
        .map(|number| if number <= played { '●' } else { '○' })
        .collect();
    if least == most {
        format!("{dots} round {round} of {most}")
    } else {
        format!("{dots} round {round} of {least}–{most}")
    }
}

/// `open: 1 critical, 2 minor · 3,210 tokens · free · 2.1 s`
pub(super) fn line(follower: &Follower, sum: &Sum, last: &Spent, in_rounds: bool) -> String {
    let mut parts = Vec::new();
    if in_rounds && !follower.ledger().all().is_empty() {
        let open: Vec<_> = follower
            .open()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(severity, count)| format!("{count} {}", severity.name()))
            .collect();
        parts.push(if open.is_empty() {
            "nothing open".to_owned()
        } else {
            format!("open: {}", open.join(", "))
        });
    }
    parts.push(format!(
        "{} tokens so far",
        output::grouped(sum.usage.total())
    ));
    parts.push(output::money(sum.cost));
    parts.push(output::duration(last.latency_ms));
    if last.retries > 0 {
        parts.push(format!("{} retries", last.retries));
    }
    format!("  {}", parts.join(" · "))
}

/// What was retrieved before the debate.
pub(super) fn noted(key: &str, value: &Value) {
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
        (None, true) => "no reasoning template fits this question".to_owned(),
        (None, false) => format!("reasoning templates: {}", hits.join(", ")),
    };
    output::note(&painted(QUIET, &text));
}

/// `Skeptic`
pub(super) fn title(seat: &str) -> String {
    let mut letters = seat.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
