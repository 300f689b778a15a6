//! Forecasts a set of questions, several at a time, with one budget.
//!
//! Questions are read page by page, so memory does not grow with the set. The id of each forecast is stored before its debate is
//! created: a run that was killed finds what has ended, resumes what has not, and repeats no finished call.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream::{self, Stream};
use futures::{StreamExt, TryStreamExt};
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::event::State;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Question;
use crate::app_context::AppContext;
use crate::clock;
use crate::debate_runs::{
    Opened, Reservation, SharedBudget, has_ended, is_with_workers, ran_out, within,
};
use crate::failure::{Code, Failure};
use crate::models::ModelPolicy;
use crate::setup::{self, DebateSpec, ProgressSink};
use crate::store::{DebateRow, LeaseError, Store};

/// Questions that are read at once.
const PAGE: u32 = 100;

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
    budget: SharedBudget,
    done: AtomicUsize,
}

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
        let spent = store.cost_of_set(&options.set).await?;
        let budget = SharedBudget::new(options.max_cost, spent);
        Ok(Self {
            app,
            store,
            options,
            complete,
            progress,
            cancel,
            budget,
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
        summary.is_out_of_budget = self.budget.is_out();
        Ok(summary)
    }

    async fn forecast(&self, question: &Question) -> Result<(), Failure> {
        if self.cancel.is_cancelled() || self.budget.is_out() {
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
        if self.cancel.is_cancelled() || !self.budget.may_spend() {
            return Ok(());
        }
        let before = row
            .as_ref()
            .and_then(|row| row.totals.cost_usd)
            .unwrap_or(Money::ZERO);
        let opened = self.open_debate(id, row.as_ref(), question).await;
        let ran = match opened {
            Ok((opened, reservation)) => {
                let ran = opened
                    .finish(self.app, (self.store, id), &self.cancel)
                    .await;
                let after = self.store.get(id).await?;
                let after = after
                    .and_then(|row| row.totals.cost_usd)
                    .unwrap_or(Money::ZERO);
                self.budget
                    .release(&reservation, after.saturating_sub(before));
                ran
            }
            // Even the shortest course costs more than what is left.
            Err(failure) if failure.code() == Code::Budget => {
                self.budget.run_out();
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
        Ok(may && ran_out(&self.store.entries(row.id).await?) && self.budget.may_spend())
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
            if self.options.on_workers && is_with_workers(row) {
                return Ok((Opened::OnWorkers, Reservation(None)));
            }
            let before = row.totals.cost_usd.unwrap_or(Money::ZERO);
            return self.reopen(id, before).await;
        }
        let left = self.budget.left();
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
        let reservation = self.budget.reserve(&prepared, &self.cancel).await?;
        let budget = within(prepared.budget, reservation.0);
        (prepared.budget, prepared.setup.budget) = (budget, budget);
        let opened = if self.options.on_workers {
            Opened::queued(self.store, id, &prepared).await
        } else {
            let created = self.store.create(id, &prepared.setup, clock::now()).await;
            let here = |lease| Opened::Here(Box::new(lease), Box::new(prepared));
            created.map(here).map_err(Failure::from)
        };
        match opened {
            Ok(opened) => Ok((opened, reservation)),
            Err(failure) => {
                self.budget.release(&reservation, Money::ZERO);
                Err(failure)
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
            max_cost: self.budget.left(),
            ..setup.budget
        };
        let policy = ModelPolicy::default();
        let mut prepared =
            setup::prepare_resume(self.app, setup, budget, policy, &self.progress).await?;
        let reservation = self.budget.reserve(&prepared, &self.cancel).await?;
        budget.max_cost = reservation.0.map(|held| held + before);
        prepared.budget = budget;
        Ok((
            Opened::Here(Box::new(lease), Box::new(prepared)),
            reservation,
        ))
    }
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
