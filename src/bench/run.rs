//! Runs the debates of a bench. Each is a debate of its own in the store of the bench, with an id that follows from its question and
//! its arm: a bench that is run again finds what is finished, resumes what is not, and repeats no finished call.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::event::{Entry, Setup};
use roundtable_engine::journal::Keyed;
use roundtable_engine::totals::Totals;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::plan::Unit;
use super::questions::BenchQuestion;
use crate::app_context::AppContext;
use crate::clock;
use crate::debate_runs::{has_ended, play, ran_out};
use crate::failure::{Code, Failure};
use crate::models::ModelPolicy;
use crate::setup::estimate::DebateEstimate;
use crate::setup::{self, Models, PreparedDebate, ProgressSink};
use crate::store::{Lease, Store};

/// How the debates of a bench are run.
pub(crate) struct RunOptions {
    pub models: Models,
    pub seed: u64,
    /// Of the whole bench, earlier runs included.
    pub max_cost: Option<Money>,
    /// The limits of one debate.
    pub budget: Budget,
    pub jobs: usize,
    pub fallback_local: bool,
    pub allow_secrets: bool,
    /// Folders of the same bench, run elsewhere: what is finished there is used.
    pub also: Vec<PathBuf>,
}

pub(crate) struct Runner<'a> {
    pub app: &'a AppContext,
    pub store: Store,
    others: Vec<Store>,
    pub options: RunOptions,
    pub progress: ProgressSink,
    pub cancel: CancellationToken,
    /// In this and earlier runs.
    spent: Mutex<Money>,
    is_out_of_budget: AtomicBool,
    done: AtomicUsize,
}

/// A debate or call that is to be run.
pub(crate) struct Run<'u> {
    /// Of its question.
    pub place: usize,
    pub unit: Unit<'u>,
    /// The entries that its journal begins with, if it is not empty.
    pub beginning: Vec<Keyed>,
}

impl<'u> Run<'u> {
    pub(crate) fn new(place: usize, unit: Unit<'u>) -> Self {
        Self {
            place,
            unit,
            beginning: Vec::new(),
        }
    }
}

/// The journals of finished debates, by question and unit.
pub(crate) type Journals = HashMap<(usize, String), Vec<Entry>>;

type Finished = ((usize, String), Vec<Entry>);

impl<'a> Runner<'a> {
    pub(crate) async fn open(
        app: &'a AppContext,
        folder: &Path,
        options: RunOptions,
        progress: ProgressSink,
        cancel: CancellationToken,
    ) -> Result<Self, Failure> {
        let store = Store::open(folder).await?;
        let mut others = Vec::new();
        for folder in &options.also {
            others.push(Store::open(folder).await?);
        }
        let mut spent = Money::ZERO;
        for id in store.ids().await? {
            spent = spent + cost_of(&store.entries(id).await?);
        }
        Ok(Self {
            app,
            store,
            others,
            options,
            progress,
            cancel,
            spent: Mutex::new(spent),
            is_out_of_budget: AtomicBool::new(false),
            done: AtomicUsize::new(0),
        })
    }

    pub(crate) fn is_out_of_budget(&self) -> bool {
        self.is_out_of_budget.load(Ordering::Relaxed)
    }

    /// Runs everything that is missing, several at once, and adds the journals. Interrupted debates are not added.
    pub(crate) async fn run_all(
        &self,
        questions: &[BenchQuestion],
        runs: &[Run<'_>],
        journals: &mut Journals,
    ) -> Result<(), Failure> {
        self.done.store(0, Ordering::Relaxed);
        let count = runs.len();
        let runs = runs
            .iter()
            .map(|run| self.run_counted(questions, run, count).boxed());
        let runs: Vec<BoxFuture<'_, Result<Option<Finished>, Failure>>> = runs.collect();
        let mut runs = stream::iter(runs).buffer_unordered(self.options.jobs);
        while let Some(finished) = runs.next().await {
            journals.extend(finished?);
        }
        Ok(())
    }

    /// Runs one debate and shows progress.
    async fn run_counted(
        &self,
        questions: &[BenchQuestion],
        run: &Run<'_>,
        count: usize,
    ) -> Result<Option<Finished>, Failure> {
        let entries = self.run(&questions[run.place], run).await?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done == count || done.is_multiple_of(10) {
            (self.progress.say)(&format!("{done} of {count} debates and calls"));
        }
        Ok(entries.map(|entries| ((run.place, run.unit.key()), entries)))
    }

    /// The journal of a debate that has ended; `None` if it was interrupted or not started.
    async fn run(
        &self,
        question: &BenchQuestion,
        run: &Run<'_>,
    ) -> Result<Option<Vec<Entry>>, Failure> {
        let id = self.id(question, &run.unit);
        let row = self.store.get(id).await?;
        if !row.as_ref().is_some_and(has_ended)
            && let Some(entries) = self.run_elsewhere(id).await?
        {
            return Ok(Some(entries));
        }
        if row.as_ref().is_some_and(has_ended) {
            let entries = self.store.entries(id).await?;
            // A debate that an earlier budget cut short continues with a higher one.
            if self.options.max_cost.is_none() || !ran_out(&entries) || !self.may_spend() {
                return Ok(Some(entries));
            }
        }
        if self.cancel.is_cancelled() || self.is_out_of_budget() || !self.may_spend() {
            return Ok(None);
        }
        let opened = match row {
            None => self.create(id, question, run).await,
            Some(_) => self.reopen(id, run).await,
        };
        let (lease, prepared) = match opened {
            Ok(opened) => opened,
            // Even the shortest course costs more than what is left.
            Err(failure) if failure.code() == Code::Budget => {
                self.is_out_of_budget.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            Err(failure) => return Err(failure),
        };
        let before = cost_of(&self.store.entries(id).await?);
        play(self.app, lease, prepared, &self.cancel).await?;
        let entries = self.store.entries(id).await?;
        self.add_spent(cost_of(&entries).saturating_sub(before));
        let ended = self.store.get(id).await?;
        Ok(ended.as_ref().is_some_and(has_ended).then_some(entries))
    }

    /// The journal of a debate that has ended in another folder of the bench.
    async fn run_elsewhere(&self, id: Uuid) -> Result<Option<Vec<Entry>>, Failure> {
        for store in &self.others {
            if store.get(id).await?.as_ref().is_some_and(has_ended) {
                return Ok(Some(store.entries(id).await?));
            }
        }
        Ok(None)
    }

    pub(crate) async fn close(&self) {
        self.store.close().await;
        for store in &self.others {
            store.close().await;
        }
    }

    /// Whether the budget of the bench is not used up.
    fn may_spend(&self) -> bool {
        let left = self.left();
        let may = left.is_none_or(|left| left > Money::ZERO);
        if !may {
            self.is_out_of_budget.store(true, Ordering::Relaxed);
        }
        may
    }

    fn add_spent(&self, cost: Money) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent = *spent + cost;
    }

    fn left(&self) -> Option<Money> {
        let spent = *self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = self.options.max_cost?;
        Some(limit.saturating_sub(spent))
    }

    fn budget(&self) -> Budget {
        let mut budget = self.options.budget;
        if let Some(left) = self.left() {
            budget.max_cost = Some(budget.max_cost.map_or(left, |own| own.min(left)));
        }
        budget
    }

    pub(crate) async fn prepare(
        &self,
        question: &BenchQuestion,
        unit: &Unit<'_>,
    ) -> Result<PreparedDebate, Failure> {
        let mut spec = unit.spec(question, &self.options.models)?;
        spec.budget = self.budget();
        spec.seed = Some(self.seed(question, unit));
        spec.fallback_local = self.options.fallback_local;
        spec.allow_secrets = self.options.allow_secrets;
        let quiet = ProgressSink {
            fetching: self.progress.fetching.clone(),
            say: Box::new(|_| {}),
        };
        let prepared = setup::prepare(self.app, &self.store, spec, &quiet).await;
        let id = &question.question.id;
        prepared.map_err(|failure| failure.after(&format!("question {id}, {}", unit.key())))
    }

    async fn create(
        &self,
        id: Uuid,
        question: &BenchQuestion,
        run: &Run<'_>,
    ) -> Result<(Lease, PreparedDebate), Failure> {
        let setup = run.beginning.first();
        let prepared = match setup.and_then(|first| first.entry.event.setup()) {
            Some(setup) => self.prepare_again(setup.clone()).await?,
            None => self.prepare(question, &run.unit).await?,
        };
        let lease = self.store.create(id, &prepared.setup, clock::now()).await?;
        self.begin(&lease, run, &[]).await?;
        Ok((lease, prepared))
    }

    async fn reopen(&self, id: Uuid, run: &Run<'_>) -> Result<(Lease, PreparedDebate), Failure> {
        let lease = self.store.lease(id).await?;
        let prepared = self.prepare_again(lease.setup().clone()).await?;
        self.begin(&lease, run, &self.store.entries(id).await?)
            .await?;
        Ok((lease, prepared))
    }

    async fn prepare_again(&self, setup: Setup) -> Result<PreparedDebate, Failure> {
        let policy = ModelPolicy::default();
        setup::prepare_resume(self.app, setup, self.budget(), policy, &self.progress).await
    }

    /// Writes the beginning, unless the journal has one.
    async fn begin(&self, lease: &Lease, run: &Run<'_>, known: &[Entry]) -> Result<(), Failure> {
        if run.beginning.is_empty() || !known.is_empty() {
            return Ok(());
        }
        let written = lease.journal().append(run.beginning.clone()).await;
        written.map_err(|error| Failure::other(format!("cannot write a debate: {error}")))
    }

    /// The expected usage of one question, by the estimate of each unit.
    pub(crate) async fn estimates(
        &self,
        question: &BenchQuestion,
        units: &[Unit<'_>],
    ) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        for unit in units {
            let prepared = self.prepare(question, unit).await?;
            let estimate = DebateEstimate::of(&prepared);
            let text = estimate.map_or_else(|| "unknown".to_owned(), |one| one.text);
            lines.push(format!("{}: {text}", unit.key()));
        }
        Ok(lines)
    }

    fn digest(&self, question: &BenchQuestion, unit: &Unit<'_>) -> [u8; 16] {
        let text = format!(
            "{}\n{}\n{}",
            self.options.seed,
            question.question.id,
            unit.key()
        );
        let hash = Sha256::digest(text.as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        bytes
    }

    fn id(&self, question: &BenchQuestion, unit: &Unit<'_>) -> Uuid {
        uuid::Builder::from_random_bytes(self.digest(question, unit)).into_uuid()
    }

    /// Small enough for every reader of JSON to hold exactly.
    fn seed(&self, question: &BenchQuestion, unit: &Unit<'_>) -> u64 {
        let bytes = self.digest(question, unit);
        bytes[..4]
            .iter()
            .fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }
}

fn cost_of(entries: &[Entry]) -> Money {
    Totals::of(entries).debate.cost.unwrap_or(Money::ZERO)
}
