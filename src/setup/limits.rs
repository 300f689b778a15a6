//! The limits of a debate that is resumed (C-19): those it was started with, or new ones, and never more than the configuration
//! allows. A limit that is used up needs a higher one before the debate can continue.

use roundtable_core::format::grouped;
use roundtable_core::timing::busy;
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::event::{Entry, Event};
use roundtable_engine::table::span_of;
use roundtable_engine::totals::Totals;
use serde_json::{Map, Value, json};

/// The limits that hold for a resumed debate. `requested` replaces the debate's own, limit by limit.
pub(crate) fn resumed(own: Budget, requested: Budget, configured: Budget) -> Budget {
    requested.or(own).within(configured)
}

/// Whether a request changes the limits that hold for a resumed debate. One above the configured limit changes nothing.
pub(crate) fn has_new_limits(own: Budget, requested: Budget, configured: Budget) -> bool {
    resumed(own, requested, configured) != resumed(own, Budget::default(), configured)
}

/// For each requested limit above the configured one: which limit holds.
pub(crate) fn lowered(requested: Budget, configured: Budget) -> Vec<String> {
    let pairs = limits(requested).into_iter().zip(limits(configured));
    let lowered = pairs.filter_map(|((kind, requested), (_, configured))| {
        let (requested, configured) = (requested?, configured?);
        (requested > configured).then(|| {
            let (flag, key) = (kind.flag(), kind.key());
            let (wanted, holds) = (kind.shown(requested), kind.shown(configured));
            format!("{flag}: the configured limit of {holds} holds (limits.{key}), not {wanted}.")
        })
    });
    lowered.collect()
}

/// Whether its budget ended the debate.
pub(crate) fn ran_out(past: &[Entry]) -> bool {
    let mut ends = past.iter().rev().filter_map(|entry| entry.event.ended());
    ends.next().is_some_and(|end| end.ran_out())
}

/// Whether a call of the debate was paid for at an unknown price.
pub(crate) fn has_unknown_cost(past: &[Entry]) -> bool {
    let mut calls = past.iter().filter_map(|entry| entry.event.call());
    calls.any(|call| call.spent.cost.is_none() && call.spent.usage.total() > 0)
}

/// The limits of a debate that have to be raised before it can continue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UsedUp(Vec<Reached>);

#[derive(Debug, Clone, PartialEq)]
struct Reached {
    kind: Kind,
    limit: f64,
    used: f64,
    /// A value that allows the debate to continue.
    enough: f64,
    /// Whether the configuration has to allow it first.
    is_configured: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tokens,
    Cost,
    Time,
}

impl UsedUp {
    /// `None` if an ended debate can continue within this budget, and for a debate that has not ended: it first uses its result so
    /// far. `has_new_limits` if the budget was raised since the debate ended.
    pub(crate) fn of(
        past: &[Entry],
        budget: Budget,
        configured: Budget,
        has_new_limits: bool,
    ) -> Option<Self> {
        let mut last = past.iter().rev().map(|entry| &entry.event);
        let is_over = last
            .find_map(|event| match event {
                Event::Ended(_) => Some(true),
                Event::Reopened { .. } => Some(false),
                _ => None,
            })
            .unwrap_or(false);
        if !is_over {
            return None;
        }
        let mut reached: Vec<Reached> = all(past, budget, configured);
        let is_used_up = |reached: &Reached| reached.used >= reached.limit;
        if reached.iter().any(is_used_up) {
            reached.retain(is_used_up);
            return Some(Self(reached));
        }
        // Calls in flight count too: the limit can be reached before it is used up.
        let nearest = Self::nearest(past, budget, configured);
        nearest.filter(|_| ran_out(past) && !has_new_limits)
    }

    /// The limit that ended the debate: those used up, or the nearest one. `None` without limits.
    pub(crate) fn nearest(past: &[Entry], budget: Budget, configured: Budget) -> Option<Self> {
        let mut reached = all(past, budget, configured);
        reached.sort_by(|a, b| (b.used / b.limit).total_cmp(&(a.used / a.limit)));
        let used_up = reached.iter().filter(|one| one.used >= one.limit).count();
        reached.truncate(used_up.max(1));
        (!reached.is_empty()).then_some(Self(reached))
    }

    /// `the limit of 1,500 tokens is used up (4,200 used)`
    pub(crate) fn sentence(&self) -> String {
        let each = self.0.iter().map(|reached| {
            let (kind, limit, used) = (reached.kind, reached.limit, reached.used);
            let whose = if reached.is_configured {
                " in the configuration"
            } else {
                ""
            };
            let verb = if used >= limit { "used up" } else { "reached" };
            let (limit, used) = (kind.shown(limit), kind.shown(used));
            format!("the limit of {limit}{whose} is {verb} ({used} used)")
        });
        each.collect::<Vec<_>>().join("; ")
    }

    /// The commands that continue the debate.
    pub(crate) fn commands(&self, id: &str) -> Vec<String> {
        let configured = self.0.iter().filter(|reached| reached.is_configured);
        let mut commands: Vec<String> = configured
            .map(|reached| {
                let (key, value) = (reached.kind.key(), reached.kind.written(reached.enough));
                format!("roundtable config set limits.{key} {value}")
            })
            .collect();
        let flags = self.0.iter().map(|reached| {
            let kind = reached.kind;
            format!(" {} {}", kind.flag(), kind.written(reached.enough))
        });
        commands.push(format!(
            "roundtable resume {id}{}",
            flags.collect::<String>()
        ));
        commands
    }

    /// The `budget` of a request that continues the debate, unless the configuration has to change first.
    pub(crate) fn request(&self) -> Option<Map<String, Value>> {
        let mut fields = Map::new();
        for reached in &self.0 {
            if reached.is_configured {
                return None;
            }
            let (name, value) = match reached.kind {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a number of tokens"
                )]
                Kind::Tokens => ("max_tokens", json!(reached.enough as u64)),
                Kind::Cost => ("max_cost", json!(reached.enough)),
                Kind::Time => ("max_seconds", json!(reached.enough)),
            };
            fields.insert(name.into(), value);
        }
        Some(fields)
    }
}

/// The limits in tokens, dollars and seconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "tokens and milliseconds of one debate"
)]
fn limits(budget: Budget) -> [(Kind, Option<f64>); 3] {
    let seconds = |ms: u64| ms as f64 / 1000.0;
    [
        (Kind::Tokens, budget.max_tokens.map(|tokens| tokens as f64)),
        (Kind::Cost, budget.max_cost.map(Money::dollars)),
        (Kind::Time, budget.max_ms.map(seconds)),
    ]
}

/// Every limit of the budget, with what was used of it.
fn all(past: &[Entry], budget: Budget, configured: Budget) -> Vec<Reached> {
    let costs = past
        .iter()
        .filter_map(|entry| entry.event.call()?.spent.cost);
    let used = Budget {
        max_tokens: Some(Totals::of(past).debate.usage.total()),
        max_cost: Some(costs.fold(Money::ZERO, |sum, cost| sum + cost)),
        max_ms: Some(busy(past.iter().filter_map(span_of))),
    };
    let rows = limits(budget)
        .into_iter()
        .zip(limits(used))
        .zip(limits(configured));
    let reached = rows.filter_map(|(((kind, limit), (_, used)), (_, ceiling))| {
        let (limit, used) = (limit?, used?);
        let wanted = kind.enough(used.max(limit));
        let is_configured = ceiling.is_some_and(|ceiling| ceiling <= used.max(limit));
        let enough = match ceiling {
            Some(ceiling) if !is_configured => wanted.min(ceiling),
            _ => wanted,
        };
        Some(Reached {
            kind,
            limit,
            used,
            enough,
            is_configured,
        })
    });
    reached.collect()
}

impl Kind {
    /// Twice as much, as a round number.
    fn enough(self, used: f64) -> f64 {
        match self {
            Self::Tokens => (used * 2.0 / 1000.0).ceil() * 1000.0,
            Self::Cost => (used * 2.0 * 100.0).ceil().max(1.0) / 100.0,
            Self::Time => (used * 2.0).ceil().max(1.0),
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a number of tokens"
            )]
            Self::Tokens => format!("{} tokens", grouped(value as u64)),
            Self::Cost => format!("${value:.4}"),
            Self::Time => format!("{value:.1} s"),
        }
    }

    /// As a value of the flag and of the setting.
    fn written(self, value: f64) -> String {
        match self {
            Self::Tokens | Self::Time => format!("{value}"),
            Self::Cost => format!("{value:.2}"),
        }
    }

    fn flag(self) -> &'static str {
        match self {
            Self::Tokens => "--max-tokens-total",
            Self::Cost => "--max-cost",
            Self::Time => "--timeout",
        }
    }

    /// In the section `limits` of the configuration.
    fn key(self) -> &'static str {
        match self {
            Self::Tokens => "max_tokens_total",
            Self::Cost => "max_cost",
            Self::Time => "timeout_s",
        }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
