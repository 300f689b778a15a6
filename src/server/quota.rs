//! Enforces the limits of a token when a debate is created or continued: cost per day, running debates, and models.
//!
//! The day's money is what the store says was spent plus what running debates may still spend. Every debate of a token with a
//! cost limit has a cost limit of its own, at most what is left of the day, so that together they cannot exceed it.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::event::{Millis, State};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore, SemaphorePermit};
use uuid::Uuid;

use super::App;
use super::access::Caller;
use super::log;
use super::ownership::DAY_MS;
use super::problem::Problem;
use super::scheduler::Full;
use crate::clock;
use crate::setup::{PreparedDebate, check_allowed, price_unknown};
use crate::store::{DebateRow, Spending, Store, TokenLimits, TurnLock};

/// Limit on the calls at once that belong to no debate. Those of debates are limited by `--max-running`.
const MAX_CALLS_OUTSIDE: usize = 32;

/// The usage of a token against the limit that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct QuotaState {
    /// Cost per UTC day.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_cost_per_day: Option<Money>,
    /// Spent today.
    spent: Money,
    /// The remaining budget of running and queued debates.
    reserved: Money,
    /// The maximum cost of a further debate today.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<Money>,
    /// When the day ends.
    resets_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_running: Option<u32>,
    /// Running and queued debates.
    running: u64,
}

/// Requests of tokens with limits take turns, so that two of them cannot both take the last place: in this process by a lock, and
/// among the processes of a shared database by a lock of that database.
pub(crate) struct Quotas {
    /// One for all tokens: a process holds at most one connection for its turn.
    turn: Arc<AsyncMutex<()>>,
    /// Calls that belong to no debate.
    outside: Semaphore,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            turn: Arc::default(),
            outside: Semaphore::new(MAX_CALLS_OUTSIDE),
        }
    }
}

/// The right to start or continue one debate. Keep it until the store has the debate as queued or running.
#[derive(Default)]
pub(super) struct Allowance {
    /// The maximum cost of the debate from now on.
    left: Option<Money>,
    _turn: Option<(TurnLock, OwnedMutexGuard<()>)>,
}

impl Allowance {
    /// Lowers the budget of a new debate to what is left of the day.
    pub(super) fn apply(&self, prepared: &mut PreparedDebate) {
        let ceiling = self.ceiling(Money::ZERO);
        prepared.budget = prepared.budget.within(ceiling);
        prepared.setup.budget = prepared.setup.budget.within(ceiling);
    }

    /// The limits of a debate that has already spent this much.
    pub(super) fn ceiling(&self, spent: Money) -> Budget {
        Budget {
            max_cost: self.left.map(|left| spent + left),
            ..Budget::default()
        }
    }
}

impl Quotas {
    /// Whether the token may start another debate now.
    pub(super) async fn check(&self, store: &Store, caller: &Caller) -> Result<(), Problem> {
        self.left(store, caller).await.map(drop)
    }

    pub(super) async fn admit(&self, store: &Store, caller: &Caller) -> Result<Allowance, Problem> {
        let Some(token) = caller.token.filter(|_| has_quota(&caller.limits)) else {
            return Ok(Allowance::default());
        };
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let lock = store.lock_quota(token).await?;
        Ok(Allowance {
            left: self.left(store, caller).await?,
            _turn: Some((lock, turn)),
        })
    }

    /// The right to make a call that belongs to no debate, if not too many run.
    pub(super) fn take_turn_outside(&self) -> Result<SemaphorePermit<'_>, Problem> {
        self.outside.try_acquire().map_err(|_| Full.into())
    }

    /// The unspent part of the day's limit; `None` without a limit.
    async fn left(&self, store: &Store, caller: &Caller) -> Result<Option<Money>, Problem> {
        let Some(token) = caller.token.filter(|_| has_quota(&caller.limits)) else {
            return Ok(None);
        };
        let now = clock::now();
        let day = now - now % DAY_MS;
        left_of(&caller.limits, store.spending(token, day).await?, now)
    }
}

/// Stores the cost of a call that belongs to no debate, for the day of the caller's token.
pub(super) async fn record_outside(store: &Store, caller: &Caller, cost: Option<Money>) {
    let cost = cost.filter(|cost| *cost > Money::ZERO);
    if let (Some(token), Some(cost)) = (caller.token, cost)
        && let Err(error) = store.add_cost(token, clock::now(), cost).await
    {
        log::note(&format!("cannot store the cost of a call: {error}"));
    }
}

fn has_quota(limits: &TokenLimits) -> bool {
    limits.max_cost_per_day.is_some() || limits.max_running.is_some()
}

fn left_of(
    limits: &TokenLimits,
    spending: Spending,
    now: Millis,
) -> Result<Option<Money>, Problem> {
    let ends_at = now - now % DAY_MS + DAY_MS;
    let used = spending.spent + spending.reserved;
    let left = limits.max_cost_per_day.map(|max| max.saturating_sub(used));
    let state = QuotaState {
        max_cost_per_day: limits.max_cost_per_day,
        spent: spending.spent,
        reserved: spending.reserved,
        left,
        resets_at: clock::stamp(ends_at),
        max_running: limits.max_running,
        running: spending.running,
    };
    let refuse = |detail: String, seconds: u64| {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail)
            .with(header::RETRY_AFTER, HeaderValue::from(seconds))
            .with_quota(state.clone())
    };
    if let Some(max) = limits.max_running
        && spending.running >= u64::from(max)
    {
        let detail = format!(
            "this token may have {max} running or queued debates and has {}; wait for one to end, or cancel one",
            spending.running
        );
        return Err(refuse(detail, 10));
    }
    if let (Some(max), Some(Money::ZERO)) = (limits.max_cost_per_day, left) {
        let seconds = (ends_at - now) / 1000 + 1;
        let detail = format!(
            "this token may spend ${:.2} per day and has nothing left: ${:.4} spent, ${:.4} reserved by running debates; \
             the day ends at {}",
            max.dollars(),
            spending.spent.dollars(),
            spending.reserved.dollars(),
            clock::stamp(ends_at)
        );
        // A reservation may become free before the day ends.
        let seconds = if spending.reserved > Money::ZERO {
            10
        } else {
            seconds
        };
        return Err(refuse(detail, seconds));
    }
    Ok(left)
}

/// Admits a debate that is to be continued. A waiting debate, which continues with its stored budget, gets a lower one if
/// necessary.
pub(super) async fn admit_continuation(
    app: &App,
    caller: &Caller,
    row: &DebateRow,
) -> Result<Allowance, Problem> {
    let is_counted = matches!(row.state, State::Running | State::Queued);
    if is_counted || caller.limits.is_unlimited() {
        return Ok(Allowance::default());
    }
    if has_quota(&caller.limits) && row.token != caller.token {
        // Its cost would count for the token that created it.
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "quota",
            "this token has limits, so it can continue only debates that it has started",
        ));
    }
    check_models(app, caller, row.id).await?;
    let allowance = app.quotas.admit(&app.store, caller).await?;
    if row.state == State::Waiting && allowance.left.is_some() {
        let own = stored_budget(app, row.id).await?;
        let spent = row.totals.cost_usd.unwrap_or_default();
        let budget = own.within(allowance.ceiling(spent));
        if budget != own {
            app.store.set_budget(row.id, &budget).await?;
        }
    }
    Ok(allowance)
}

pub(super) async fn stored_budget(app: &App, id: Uuid) -> Result<Budget, Problem> {
    if let Some(budget) = app.store.budget(id).await? {
        return Ok(budget);
    }
    let setup = app.store.setup(id).await?;
    Ok(setup.map(|setup| setup.budget).unwrap_or_default())
}

/// The models of a stored debate must be allowed too, and priced if the cost is limited.
async fn check_models(app: &App, caller: &Caller, id: Uuid) -> Result<(), Problem> {
    let policy = caller.policy();
    let setup = app.store.setup(id).await?;
    for seated in setup.iter().flat_map(|setup| &setup.seats) {
        // The provider of an old debate may be gone; then it cannot be resumed anyway.
        let Ok(name) = app.context.config.model_name(&seated.model) else {
            continue;
        };
        check_allowed([&name], &policy)?;
        if policy.priced_only && app.context.models.price(&name).is_none() {
            return Err(price_unknown(&name.to_string()).into());
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;
