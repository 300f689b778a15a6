//! The account of the test calls that clients start on the models page. They belong to no debate, so they are counted here:
//! together, the test calls of an hour may use as much as one debate (`[limits]`), and only a few start per minute.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use tokio::time::Instant;

use crate::format::{counted, grouped, money};

/// Limit on the test calls that start within a minute.
const MAX_PER_MINUTE: usize = 6;
/// Limit on the duration of one test call, all of its attempts included.
pub(super) const TEST_TIMEOUT: Duration = Duration::from_mins(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

#[derive(Debug, Default)]
pub(crate) struct TestCalls(Mutex<VecDeque<TestCall>>);

#[derive(Debug, Clone, Copy)]
struct TestCall {
    at: Instant,
    tokens: u64,
    cost: Option<Money>,
}

/// Why a test call is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TestRefused {
    #[error("at most {MAX_PER_MINUTE} test calls per minute: retry later")]
    Rate,
    #[error("the test calls of the last hour have used up {0} (limits of a debate): retry later")]
    UsedUp(String),
}

impl TestCalls {
    /// Counts a call that is about to start. The time of its start identifies it.
    pub(crate) fn admit(&self, limits: &Budget) -> Result<Instant, TestRefused> {
        let now = Instant::now();
        let mut calls = self.recent(now);
        let last_minute = calls
            .iter()
            .filter(|call| now.duration_since(call.at) < MINUTE);
        if last_minute.count() >= MAX_PER_MINUTE {
            return Err(TestRefused::Rate);
        }
        let tokens: u64 = calls.iter().map(|call| call.tokens).sum();
        if let Some(limit) = limits.max_tokens.filter(|limit| tokens >= *limit) {
            let limit = format!("{} tokens", grouped(limit));
            return Err(TestRefused::UsedUp(limit));
        }
        let cost: Money = calls.iter().filter_map(|call| call.cost).sum();
        if let Some(limit) = limits.max_cost.filter(|limit| cost >= *limit) {
            let limit = format!("${:.4}", limit.dollars());
            return Err(TestRefused::UsedUp(limit));
        }
        calls.push_back(TestCall {
            at: now,
            tokens: 0,
            cost: Some(Money::ZERO),
        });
        Ok(now)
    }

    /// Adds what an admitted call has used.
    pub(crate) fn record(&self, admitted: Instant, tokens: u64, cost: Option<Money>) {
        let mut calls = self.recent(Instant::now());
        if let Some(call) = calls.iter_mut().find(|call| call.at == admitted) {
            call.tokens += tokens;
            call.cost = call.cost.zip(cost).map(|(sum, cost)| sum + cost);
        }
    }

    /// The account of the last hour, for people; `None` without calls.
    pub(crate) fn summary(&self) -> Option<String> {
        let calls = self.recent(Instant::now());
        if calls.is_empty() {
            return None;
        }
        let tokens: u64 = calls.iter().map(|call| call.tokens).sum();
        let cost: Option<Money> = calls.iter().map(|call| call.cost).sum();
        Some(format!(
            "Test calls on this server in the last hour: {}, {}, {}.",
            counted(calls.len(), "call"),
            counted(usize::try_from(tokens).unwrap_or(usize::MAX), "token"),
            money(cost, tokens)
        ))
    }

    /// The calls of the last hour.
    fn recent(&self, now: Instant) -> MutexGuard<'_, VecDeque<TestCall>> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|call| now.duration_since(call.at) < HOUR);
        calls
    }
}

#[cfg(test)]
#[path = "test_calls_tests.rs"]
mod tests;
