//! One budget for debates that run at the same time. Each holds a part of it and may spend no more, so that together they never exceed it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::setup::PreparedDebate;

pub(crate) struct SharedBudget {
    limit: Option<Money>,
    spending: Mutex<Spending>,
    /// A debate has ended, and what it held is free.
    released: Notify,
}

/// What is spent, and what running debates may still spend.
#[derive(Default)]
struct Spending {
    spent: Money,
    reserved: Money,
    is_out: bool,
}

/// The part of the budget that a running debate holds; `None` without a limit.
pub(crate) struct Reservation(pub(crate) Option<Money>);

impl SharedBudget {
    /// `spent` is what earlier runs have cost.
    pub(crate) fn new(limit: Option<Money>, spent: Money) -> Self {
        let spending = Spending {
            spent,
            ..Spending::default()
        };
        Self {
            limit,
            spending: Mutex::new(spending),
            released: Notify::new(),
        }
    }

    fn spending(&self) -> MutexGuard<'_, Spending> {
        self.spending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    pub(crate) fn is_out(&self) -> bool {
        self.spending().is_out
    }

    /// Not even the shortest course of another debate can be paid.
    pub(crate) fn run_out(&self) {
        self.spending().is_out = true;
    }

    /// The rest of the budget, with what running debates hold.
    pub(crate) fn left(&self) -> Option<Money> {
        let spent = self.spending().spent;
        self.limit.map(|limit| limit.saturating_sub(spent))
    }

    pub(crate) fn may_spend(&self) -> bool {
        let may = self.left().is_none_or(|left| left > Money::ZERO);
        if !may {
            self.run_out();
        }
        may
    }

    /// Adds what debates have cost that hold nothing.
    pub(crate) fn add_spent(&self, cost: Money) {
        let mut spending = self.spending();
        spending.spent = spending.spent + cost;
    }

    /// Holds twice the highest expected cost of a debate, and it may spend no more. Waits until others have ended if they hold too
    /// much.
    pub(crate) async fn reserve(
        &self,
        prepared: &PreparedDebate,
        cancel: &CancellationToken,
    ) -> Result<Reservation, Failure> {
        let Some(limit) = self.limit else {
            return Ok(Reservation(None));
        };
        let costs = prepared.setup.estimate;
        let costs = costs.and_then(|estimate| estimate.ranges.cost);
        let high = costs.and_then(|cost| Money::from_dollars(cost.high * 2.0));
        let low = costs.and_then(|cost| Money::from_dollars(cost.low));
        loop {
            let mut released = std::pin::pin!(self.released.notified());
            released.as_mut().enable();
            {
                let mut spending = self.spending();
                let free = limit.saturating_sub(spending.spent + spending.reserved);
                let is_alone = spending.reserved == Money::ZERO;
                if is_alone && (free == Money::ZERO || low.is_some_and(|low| low > free)) {
                    return Err(Failure::budget(
                        "the rest of the budget is not enough for another debate",
                    ));
                }
                if is_alone || high.is_some_and(|high| high <= free) {
                    let held = high.map_or(free, |high| high.min(free));
                    spending.reserved = spending.reserved + held;
                    return Ok(Reservation(Some(held)));
                }
            }
            tokio::select! {
                () = released => {}
                () = cancel.cancelled() => return Err(Failure::other("interrupted")),
            }
        }
    }

    /// Frees what a debate held; `cost` is what it has spent of it.
    pub(crate) fn release(&self, reservation: &Reservation, cost: Money) {
        let held = reservation.0.unwrap_or(Money::ZERO);
        {
            let mut spending = self.spending();
            spending.spent = spending.spent + cost;
            spending.reserved = spending.reserved.saturating_sub(held);
        }
        self.released.notify_waiters();
    }
}

/// The smaller of both limits.
pub(crate) fn within(budget: Budget, cost: Option<Money>) -> Budget {
    let max_cost = match (budget.max_cost, cost) {
        (Some(own), Some(left)) => Some(own.min(left)),
        (own, left) => own.or(left),
    };
    Budget { max_cost, ..budget }
}
