//! What a debate may spend, and what it has spent (C-07).
//!
//! A call starts only while there is something left. One already under way is let finish, so the last call may go over the
//! limit by its own size; the time limit alone also ends a call under way.

use std::sync::{Mutex, PoisonError};

use roundtable_core::timing::Millis;
use roundtable_core::usage::{Money, Price, Usage};
use serde::{Deserialize, Serialize};

use crate::spent::Spent;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub max_tokens: Option<u64>,
    pub max_cost: Option<Money>,
    pub max_ms: Option<u64>,
}

/// Which limit was reached. Callers end the debate with the best result so far.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Exhausted {
    #[error("the limit of {limit} tokens is reached ({spent} used)")]
    Tokens { limit: u64, spent: u64 },
    #[error("the limit of ${:.4} is reached (${:.4} spent)", limit.dollars(), spent.dollars())]
    Cost { limit: Money, spent: Money },
    #[error("the time limit of {} s is reached", std::time::Duration::from_millis(*limit_ms).as_secs_f64())]
    Time { limit_ms: u64 },
}

/// Keeps count while steps run side by side.
#[derive(Debug)]
pub(crate) struct BudgetTracker {
    budget: Budget,
    spent: Mutex<Totals>,
}

#[derive(Debug, Default)]
struct Totals {
    tokens: u64,
    cost: Money,
    /// Estimated input of calls under way.
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
            .map(|limit| started + limit.saturating_sub(used_before))
    }

    pub(crate) fn time_exhausted(&self) -> Exhausted {
        Exhausted::Time {
            limit_ms: self.budget.max_ms.unwrap_or_default(),
        }
    }

    /// Counts what the journal says was spent before.
    pub(crate) fn recall(&self, spent: &Spent) {
        self.with(|totals| {
            totals.tokens += spent.usage.total();
            totals.cost = totals.cost + spent.cost.unwrap_or_default();
        });
    }

    /// Whether another call may start; its expected input is set aside until it is settled.
    pub(crate) fn admit(
        &self,
        expected_input: u64,
        price: Option<&Price>,
    ) -> Result<Reservation, Exhausted> {
        let cost = price.map_or(Money::ZERO, |price| {
            price.of(Usage {
                input: expected_input,
                ..Usage::default()
            })
        });
        self.with(|totals| {
            let tokens = totals.tokens + totals.reserved_tokens;
            if let Some(limit) = self.budget.max_tokens
                && tokens >= limit
            {
                return Err(Exhausted::Tokens {
                    limit,
                    spent: totals.tokens,
                });
            }
            if let Some(limit) = self.budget.max_cost
                && totals.cost + totals.reserved_cost >= limit
            {
                return Err(Exhausted::Cost {
                    limit,
                    spent: totals.cost,
                });
            }
            totals.reserved_tokens += expected_input;
            totals.reserved_cost = totals.reserved_cost + cost;
            Ok(Reservation {
                tokens: expected_input,
                cost,
            })
        })
    }

    /// Whether a step that has used so much already may go on spending.
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
        self.recall(spent);
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

#[must_use]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reservation {
    tokens: u64,
    cost: Money,
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
