//! Budget of a debate: limits and accounting (C-07).
//!
//! A call starts only if its prompt fits into what is left. A call in flight is allowed to finish, so the last call may exceed the
//! limit by its reply; only the time limit also aborts calls in flight. Replies of other calls in flight are expected to be as long
//! as the mean of those before.

use std::sync::{Mutex, PoisonError};

use roundtable_core::format::counted;
use roundtable_core::timing::Millis;
use roundtable_core::usage::{Money, Price, Usage};
use serde::{Deserialize, Serialize};

use crate::spent::Spent;

/// Limits of a debate; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub max_tokens: Option<u64>,
    pub max_cost: Option<Money>,
    pub max_ms: Option<u64>,
}

impl Budget {
    /// These limits where they are set, `other`'s elsewhere.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            max_tokens: self.max_tokens.or(other.max_tokens),
            max_cost: self.max_cost.or(other.max_cost),
            max_ms: self.max_ms.or(other.max_ms),
        }
    }

    /// Lowered to the ceiling where it is higher (C-19).
    #[must_use]
    pub fn within(self, ceiling: Self) -> Self {
        fn lower<T: PartialOrd>(limit: Option<T>, ceiling: Option<T>) -> Option<T> {
            match (limit, ceiling) {
                (Some(limit), Some(ceiling)) if limit < ceiling => Some(limit),
                (limit, None) => limit,
                (_, ceiling) => ceiling,
            }
        }
        Self {
            max_tokens: lower(self.max_tokens, ceiling.max_tokens),
            max_cost: lower(self.max_cost, ceiling.max_cost),
            max_ms: lower(self.max_ms, ceiling.max_ms),
        }
    }
}

/// The limit that was reached. The debate ends with the best result so far.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Exhausted {
    #[error("the limit of {} {} ({spent} used)", counted(*limit, "token"), reached(spent >= limit))]
    Tokens { limit: u64, spent: u64 },
    #[error("the limit of ${:.4} {} (${:.4} spent)", limit.dollars(), reached(spent >= limit), spent.dollars())]
    Cost { limit: Money, spent: Money },
    #[error("the time limit of {} s is reached", std::time::Duration::from_millis(*limit_ms).as_secs_f64())]
    Time { limit_ms: u64 },
}

fn reached(is_reached: bool) -> &'static str {
    if is_reached {
        "is reached"
    } else {
        "has no room for the next call"
    }
}

/// Accounting across concurrent steps.
#[derive(Debug)]
pub(crate) struct BudgetTracker {
    budget: Budget,
    spent: Mutex<Totals>,
}

#[derive(Debug, Default)]
struct Totals {
    tokens: u64,
    cost: Money,
    /// Calls and output tokens so far, for the expected size of a reply.
    calls: u64,
    output: u64,
    /// Estimated size of calls in flight.
    reserved_tokens: u64,
    reserved_cost: Money,
}

impl BudgetTracker {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            spent: Mutex::default(),
        }
    }

    pub(crate) fn deadline(&self, started: Millis, used_before: u64) -> Option<Millis> {
        self.budget
            .max_ms
            .map(|limit| started.saturating_add(limit.saturating_sub(used_before)))
    }

    pub(crate) fn time_exhausted(&self) -> Exhausted {
        Exhausted::Time {
            limit_ms: self.budget.max_ms.unwrap_or_default(),
        }
    }

    /// Whether a cost limit rules out a model with this price: what cannot be counted cannot be limited.
    pub(crate) fn rules_out(&self, price: Option<&Price>) -> bool {
        self.budget.max_cost.is_some() && price.is_none()
    }

    /// Adds what was spent, also by earlier runs.
    pub(crate) fn add(&self, spent: &Spent) {
        self.with(|totals| {
            totals.tokens += spent.usage.total();
            totals.cost = totals.cost + spent.cost.unwrap_or_default();
            totals.calls += u64::from(spent.calls);
            totals.output += spent.usage.output;
        });
    }

    /// Reserves the expected size of a call until [`BudgetTracker::settle`].
    ///
    /// # Errors
    /// [`Exhausted`] if a limit is reached, or would be by the call's input alone.
    pub(crate) fn admit(
        &self,
        expected_input: u64,
        price: Option<&Price>,
    ) -> Result<Reservation, Exhausted> {
        let cost_of = |input, output| {
            price.map_or(Money::ZERO, |price| {
                price.of(Usage {
                    input,
                    output,
                    cached: 0,
                })
            })
        };
        self.with(|totals| {
            let tokens = totals.tokens + totals.reserved_tokens + expected_input;
            if let Some(limit) = self.budget.max_tokens
                && tokens >= limit
            {
                return Err(Exhausted::Tokens {
                    limit,
                    spent: totals.tokens,
                });
            }
            if let Some(limit) = self.budget.max_cost
                && totals.cost + totals.reserved_cost + cost_of(expected_input, 0) >= limit
            {
                return Err(Exhausted::Cost {
                    limit,
                    spent: totals.cost,
                });
            }
            let output = totals.output.checked_div(totals.calls).unwrap_or_default();
            let tokens = expected_input + output;
            let cost = cost_of(expected_input, output);
            totals.reserved_tokens += tokens;
            totals.reserved_cost = totals.reserved_cost + cost;
            Ok(Reservation { tokens, cost })
        })
    }

    /// Whether a step that has used `used` so far may make another call.
    pub(crate) fn has_left(&self, used: &Spent) -> bool {
        self.with(|totals| {
            let tokens = totals.tokens + used.usage.total();
            let cost = totals.cost + used.cost.unwrap_or_default();
            self.budget.max_tokens.is_none_or(|limit| tokens < limit)
                && self.budget.max_cost.is_none_or(|limit| cost < limit)
        })
    }

    pub(crate) fn settle(&self, reservation: Reservation, spent: &Spent) {
        self.release(reservation);
        self.add(spent);
    }

    fn release(&self, reservation: Reservation) {
        self.with(|totals| {
            totals.reserved_tokens = totals.reserved_tokens.saturating_sub(reservation.tokens);
            totals.reserved_cost = totals.reserved_cost.saturating_sub(reservation.cost);
        });
    }

    fn with<T>(&self, change: impl FnOnce(&mut Totals) -> T) -> T {
        change(&mut self.spent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tokens and cost reserved for a call in flight.
#[must_use]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reservation {
    tokens: u64,
    cost: Money,
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
