//! Forecasts a set of questions, several at a time, with one budget.
//!
//! Questions are read page by page, so memory does not grow with the set. The id of each forecast is stored before its debate is
//! created: a run that was killed finds what has ended, resumes what has not, and repeats no finished call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{self, Stream};
use futures::{StreamExt, TryStreamExt};
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::event::State;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Question;
use crate::app_context::AppContext;
use crate::clock;
use crate::debate_runs::{has_ended, play, ran_out};
use crate::failure::{Code, Failure};
use crate::models::ModelPolicy;
use crate::setup::{self, DebateSpec, PreparedDebate, ProgressSink};
use crate::store::{CreateRequest, DebateRow, Lease, LeaseError, Store};

/// Questions that are read at once.
const PAGE: u32 = 100;
/// How often a debate that a worker runs is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) struct RunOptions {
    pub set: String,
    /// Of the whole set, earlier runs included.
    pub max_cost: Option<Money>,
    pub concurrency: usize,
    /// Only the first questions of the set.
    pub limit: Option<usize>,
    /// Workers of the shared database run the debates.
    pub on_workers: bool,
}

/// Adds models, depth, seed and the other limits to the request of a question.
pub(crate) type Complete<'a> = &'a (dyn Fn(DebateSpec) -> Result<DebateSpec, Failure> + Sync);

pub(crate) struct SetRun<'a> {
    pub app: &'a AppContext,
    pub store: &'a Store,
    pub options: RunOptions,
    pub complete: Complete<'a>,
    pub progress: ProgressSink,
    pub cancel: CancellationToken,
    spending: Mutex<Spending>,
    /// A debate has ended, and what it held is free.
    released: Notify,
    done: AtomicUsize,
}

/// What is spent, and what running debates may still spend.
#[derive(Default)]
struct Spending {
    spent: Money,
    reserved: Money,
    is_out: bool,
}

/// The part of the budget that a running debate holds.
struct Reservation(Option<Money>);

/// How a run ended.
#[derive(Debug, Default)]
pub(crate) struct RunSummary {
    pub questions: usize,
    /// Questions without a forecast, with the reason; at most [`MAX_FAILURES`].
    pub failures: Vec<String>,
    pub failed: usize,
    pub is_out_of_budget: bool,
}

pub(crate) const MAX_FAILURES: usize = 20;

impl<'a> SetRun<'a> {
    pub(crate) async fn open(
        app: &'a AppContext,
        store: &'a Store,
        options: RunOptions,
        complete: Complete<'a>,
        progress: ProgressSink,
        cancel: CancellationToken,
    ) -> Result<Self, Failure> {
        let spending = Spending {
            spent: store.cost_of_set(&options.set).await?,
            ..Spending::default()
        };
        Ok(Self {
            app,
            store,
            options,
            complete,
            progress,
            cancel,
            spending: Mutex::new(spending),
            released: Notify::new(),
            done: AtomicUsize::new(0),
        })
    }

    /// Runs everything that is missing. A question that cannot be forecast does not stop the others.
    pub(crate) async fn run(&self) -> Result<RunSummary, Failure> {
        let limit = self.options.limit.unwrap_or(usize::MAX);
        let questions = Box::pin(questions(self.store, &self.options.set).take(limit));
        let runs = questions.map(|question| async move {
            let question = question?;
            Ok::<_, Failure>((
                question.id.clone(),
                Box::pin(self.forecast(&question)).await,
            ))
        });
        let mut runs = Box::pin(runs.buffer_unordered(self.options.concurrency));
        let mut summary = RunSummary::default();
        while let Some(run) = runs.next().await {
            let (id, done) = run?;
            summary.questions += 1;
            if let Err(failure) = done {
                summary.failed += 1;
                if summary.failures.len() < MAX_FAILURES {
                    summary
                        .failures
                        .push(format!("{id}: {}", failure.message()));
                }
            }
        }
        summary.is_out_of_budget = self.spending().is_out;
        Ok(summary)
    }

    fn spending(&self) -> std::sync::MutexGuard<'_, Spending> {
        self.spending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn forecast(&self, question: &Question) -> Result<(), Failure> {
        if self.cancel.is_cancelled() || self.spending().is_out {
            return Ok(());
        }
        let number = 1;
        let set = &self.options.set;
        let id = self
            .store
            .reserve_forecast(set, &question.id, number, Uuid::new_v4())
            .await?;
        let row = self.store.get(id).await?;
        if let Some(row) = &row
            && has_ended(row)
            && !self.may_continue(row).await?
        {
            self.count();
            return Ok(());
        }
        if self.cancel.is_cancelled() || !self.may_spend() {
            return Ok(());
        }
        let before = row
            .as_ref()
            .and_then(|row| row.totals.cost_usd)
            .unwrap_or(Money::ZERO);
        let opened = self.open_debate(id, row.as_ref(), question).await;
        let ran = match opened {
            Ok((opened, reservation)) => {
                let ran = match opened {
                    Opened::Here(lease, prepared) => {
                        play(self.app, *lease, *prepared, &self.cancel).await
                    }
                    Opened::OnWorkers => self.wait_for(id).await,
                };
                let after = self.store.get(id).await?;
                let after = after
                    .and_then(|row| row.totals.cost_usd)
                    .unwrap_or(Money::ZERO);
                self.release(&reservation, after.saturating_sub(before));
                ran
            }
            // Even the shortest course costs more than what is left.
            Err(failure) if failure.code() == Code::Budget => {
                self.spending().is_out = true;
                return Ok(());
            }
            Err(failure) => Err(failure),
        };
        ran?;
        if !self.cancel.is_cancelled() {
            self.count();
        }
        Ok(())
    }

    /// Whether a debate that an earlier budget cut short continues with the present one.
    async fn may_continue(&self, row: &DebateRow) -> Result<bool, Failure> {
        let may = row.state == State::Partial && self.options.max_cost.is_some();
        Ok(may && ran_out(&self.store.entries(row.id).await?) && self.may_spend())
    }

    fn count(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(10) {
            (self.progress.say)(&format!("{done} questions"));
        }
    }

    async fn open_debate(
        &self,
        id: Uuid,
        row: Option<&DebateRow>,
        question: &Question,
    ) -> Result<(Opened, Reservation), Failure> {
        if let Some(row) = row {
            if self.options.on_workers && matches!(row.state, State::Queued | State::Running) {
                return Ok((Opened::OnWorkers, Reservation(None)));
            }
            let before = row.totals.cost_usd.unwrap_or(Money::ZERO);
            return self.reopen(id, before).await;
        }
        let left = self.left();
        let spec = (self.complete)(question.spec())?;
        let spec = DebateSpec {
            budget: within(spec.budget, left),
            ..spec
        };
        let quiet = ProgressSink {
            fetching: self.progress.fetching.clone(),
            say: Box::new(|_| {}),
        };
        let mut prepared = setup::prepare(self.app, self.store, spec, &quiet).await?;
        let reservation = self.reserve(&prepared).await?;
        let budget = within(prepared.budget, reservation.0);
        (prepared.budget, prepared.setup.budget) = (budget, budget);
        if self.options.on_workers {
            let sent = CreateRequest::default();
            let created = self
                .store
                .create_queued(id, &prepared.setup, clock::now(), &sent)
                .await;
            return match created {
                Ok(_) => Ok((Opened::OnWorkers, reservation)),
                Err(error) => {
                    self.release(&reservation, Money::ZERO);
                    Err(error.into())
                }
            };
        }
        let lease = self.store.create(id, &prepared.setup, clock::now()).await;
        match lease {
            Ok(lease) => Ok((
                Opened::Here(Box::new(lease), Box::new(prepared)),
                reservation,
            )),
            Err(error) => {
                self.release(&reservation, Money::ZERO);
                Err(error.into())
            }
        }
    }

    /// `before` is what the debate has cost, which counts in its own limit.
    async fn reopen(&self, id: Uuid, before: Money) -> Result<(Opened, Reservation), Failure> {
        let lease = match self.store.lease_or_wait(id).await {
            Err(LeaseError::Held { .. }) => {
                return Err(Failure::other(
                    "another process is running this forecast; run the command again when it has ended",
                ));
            }
            lease => lease?,
        };
        let setup = lease.setup().clone();
        let mut budget = Budget {
            max_cost: self.left(),
            ..setup.budget
        };
        let policy = ModelPolicy::default();
        let mut prepared =
            setup::prepare_resume(self.app, setup, budget, policy, &self.progress).await?;
        let reservation = self.reserve(&prepared).await?;
        budget.max_cost = reservation.0.map(|held| held + before);
        prepared.budget = budget;
        Ok((
            Opened::Here(Box::new(lease), Box::new(prepared)),
            reservation,
        ))
    }

    /// The rest of the budget, with what running debates hold.
    fn left(&self) -> Option<Money> {
        let spent = self.spending().spent;
        let limit = self.options.max_cost;
        limit.map(|limit| limit.saturating_sub(spent))
    }

    fn may_spend(&self) -> bool {
        let may = self.left().is_none_or(|left| left > Money::ZERO);
        if !may {
            self.spending().is_out = true;
        }
        may
    }

    /// Holds twice the highest expected cost of a debate, and it may spend no more: debates that run together never exceed the
    /// budget of the set. Waits until others have ended if they hold too much.
    async fn reserve(&self, prepared: &PreparedDebate) -> Result<Reservation, Failure> {
        let Some(limit) = self.options.max_cost else {
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
                        "the rest of the budget is not enough for another forecast",
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
                () = self.cancel.cancelled() => return Err(Failure::other("interrupted")),
            }
        }
    }

    fn release(&self, reservation: &Reservation, cost: Money) {
        let held = reservation.0.unwrap_or(Money::ZERO);
        {
            let mut spending = self.spending();
            spending.spent = spending.spent + cost;
            spending.reserved = spending.reserved.saturating_sub(held);
        }
        self.released.notify_waiters();
    }

    /// Until a worker has ended the debate. If this process is stopped, the workers continue.
    async fn wait_for(&self, id: Uuid) -> Result<(), Failure> {
        loop {
            let row = self.store.get(id).await?;
            if row.is_none_or(|row| has_ended(&row) || row.state == State::Failed) {
                return Ok(());
            }
            tokio::select! {
                () = self.cancel.cancelled() => return Ok(()),
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }
}

enum Opened {
    Here(Box<Lease>, Box<PreparedDebate>),
    OnWorkers,
}

fn within(budget: Budget, cost: Option<Money>) -> Budget {
    let max_cost = match (budget.max_cost, cost) {
        (Some(own), Some(left)) => Some(own.min(left)),
        (own, left) => own.or(left),
    };
    Budget { max_cost, ..budget }
}

/// The questions of a set in order, one page at a time.
pub(crate) fn questions<'a>(
    store: &'a Store,
    set: &'a str,
) -> impl Stream<Item = Result<Question, Failure>> + 'a {
    let pages = stream::try_unfold(0, move |place| async move {
        let page = store.questions_after(set, place, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok::<_, Failure>(None);
        };
        let next = last.place;
        Ok(Some((page, next)))
    });
    pages
        .map_ok(|page| stream::iter(page.into_iter().map(|stored| Question::read(&stored))))
        .try_flatten()
}
