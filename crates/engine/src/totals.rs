//! Usage and cost of a debate, summed up from its journal: per seat, per round and in total (C-11).

use std::collections::BTreeMap;

use roundtable_core::format::grouped;
use roundtable_core::usage::{Money, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Call, Entry};
use crate::report::Fact;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Sum {
    #[serde(flatten)]
    pub usage: Usage,
    pub calls: u32,
    pub retries: u32,
    pub latency_ms: u64,
    /// `None` as soon as the price of one call is not known: an unknown price is never shown as zero.
    pub cost: Option<Money>,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            usage: Usage::default(),
            calls: 0,
            retries: 0,
            latency_ms: 0,
            cost: Some(Money::ZERO),
        }
    }
}

impl Sum {
    pub fn add(&mut self, call: &Call) {
        let spent = &call.spent;
        self.usage += spent.usage;
        self.calls += spent.calls;
        self.retries += spent.retries;
        self.latency_ms += spent.latency_ms;
        self.cost = match (self.cost, spent.cost) {
            (Some(sum), Some(cost)) => Some(sum + cost),
            // A call that used nothing costs nothing at any price.
            (sum, None) if spent.usage == Usage::default() => sum,
            _ => None,
        };
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Totals {
    pub debate: Sum,
    pub seats: BTreeMap<String, Sum>,
    pub rounds: BTreeMap<u32, Sum>,
    /// Steps outside the rounds by phase, such as `synthesis`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, Sum>,
}

impl Totals {
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut totals = Self::default();
        for call in entries.into_iter().filter_map(|entry| entry.event.call()) {
            totals.debate.add(call);
            totals.seats.entry(call.seat.clone()).or_default().add(call);
            let group = call.step.split('/').next().unwrap_or_default();
            if group == format!("r{}", call.round) {
                totals.rounds.entry(call.round).or_default().add(call);
            } else {
                let phase = totals.phases.entry(group.to_owned());
                phase.or_default().add(call);
            }
        }
        totals
    }
}

/// A cost for people, the same on every surface. An unknown price is never free, and neither is a call that never answered.
pub fn shown_cost(cost: Option<Money>, tokens: u64) -> String {
    match cost {
        None => "price unknown".into(),
        Some(cost) if cost != Money::ZERO => format!("${:.4}", cost.dollars()),
        Some(_) if tokens == 0 => "no cost".into(),
        Some(_) => "free".into(),
    }
}

/// The cost of the first, blind answer next to that of the whole debate (C-17). Each side is a cost with its tokens.
pub fn compared_cost(blind: (Option<Money>, u64), debated: (Option<Money>, u64)) -> Fact {
    let side = |(cost, tokens): (Option<Money>, u64)| {
        format!("{} ({} tokens)", shown_cost(cost, tokens), grouped(tokens))
    };
    let value = format!("{} blind, {} debated", side(blind), side(debated));
    Fact::new("Cost", value)
}

#[cfg(test)]
#[path = "totals_tests.rs"]
mod tests;
