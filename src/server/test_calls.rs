//! The account of the test calls that clients start on the models page. They belong to no debate, so they are counted in the
//! store, for all of its servers together: the test calls of an hour may use as much as one debate (`[limits]`), and only a few
//! start per minute.

use std::time::Duration;

use roundtable_core::usage::{Money, Price};
use roundtable_engine::budget::Budget;
use roundtable_engine::event::Millis;
use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use super::log;
use crate::clock;
use crate::format::{counted, grouped, money};
use crate::model_probe::MAX_TEST_USAGE;
use crate::store::{Store, StoreError, TestCall};

/// Limit on the test calls that start within a minute.
const MAX_PER_MINUTE: usize = 6;
/// Limit on the duration of one test call, all of its attempts included.
pub(super) const TEST_TIMEOUT: Duration = Duration::from_mins(1);
const MINUTE_MS: Millis = 60 * 1000;
const HOUR_MS: Millis = 60 * MINUTE_MS;

/// Requests take turns, in this process by this lock and among processes by one of the store, so that two of them cannot both
/// start the last call.
#[derive(Debug, Default)]
pub(crate) struct TestCalls {
    turn: AsyncMutex<()>,
}

/// Why a test call is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TestRefused {
    #[error("at most {MAX_PER_MINUTE} test calls per minute: retry later")]
    Rate,
    #[error("the test calls of the last hour have used up {0} (limits of a debate): retry later")]
    UsedUp(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TestCalls {
    /// Counts a call that is about to start, as if it used all that it can.
    pub(crate) async fn admit(
        &self,
        store: &Store,
        limits: &Budget,
        price: Option<Price>,
    ) -> Result<Uuid, TestRefused> {
        let _turn = self.turn.lock().await;
        let _lock = store.lock_test_calls().await?;
        let now = clock::now();
        let since = now.saturating_sub(HOUR_MS);
        if let Some(refused) = refusal(&store.test_calls(since).await?, limits, now) {
            return Err(refused);
        }
        let call = TestCall {
            at: now,
            tokens: MAX_TEST_USAGE.total(),
            cost: price.map(|price| price.of(MAX_TEST_USAGE)),
        };
        Ok(store.add_test_call(call, since).await?)
    }

    /// Replaces what an admitted call can use by what it has used. If that cannot be stored, it counts as if it had used all.
    pub(crate) async fn record(store: &Store, admitted: Uuid, tokens: u64, cost: Option<Money>) {
        if let Err(error) = store.end_test_call(admitted, tokens, cost).await {
            log::note(&format!("cannot store the usage of a test call: {error}"));
        }
    }

    /// The account of the last hour, for people; `None` without calls.
    pub(crate) async fn summary(store: &Store) -> Result<Option<String>, StoreError> {
        let calls = store.test_calls(clock::now().saturating_sub(HOUR_MS));
        Ok(summary(&calls.await?))
    }
}

/// `calls` are those of the last hour.
fn refusal(calls: &[TestCall], limits: &Budget, now: Millis) -> Option<TestRefused> {
    let minute = now.saturating_sub(MINUTE_MS);
    if calls.iter().filter(|call| call.at > minute).count() >= MAX_PER_MINUTE {
        return Some(TestRefused::Rate);
    }
    let tokens: u64 = calls.iter().map(|call| call.tokens).sum();
    if let Some(limit) = limits.max_tokens.filter(|limit| tokens >= *limit) {
        let limit = format!("{} tokens", grouped(limit));
        return Some(TestRefused::UsedUp(limit));
    }
    let cost: Money = calls.iter().filter_map(|call| call.cost).sum();
    let limit = limits.max_cost.filter(|limit| cost >= *limit)?;
    Some(TestRefused::UsedUp(format!("${:.4}", limit.dollars())))
}

fn summary(calls: &[TestCall]) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    let tokens: u64 = calls.iter().map(|call| call.tokens).sum();
    let cost: Option<Money> = calls.iter().map(|call| call.cost).sum();
    Some(format!(
        "Test calls in the last hour: {}, {}, {}.",
        counted(calls.len(), "call"),
        counted(usize::try_from(tokens).unwrap_or(usize::MAX), "token"),
        money(cost, tokens)
    ))
}

#[cfg(test)]
#[path = "test_calls_tests.rs"]
mod tests;
