//! Runs the debates of a bench. Each is a debate of its own in the store of the bench, with an id that follows from its question and
//! its arm: a bench that is run again finds what is finished, resumes what is not, and repeats no finished call.
//!
//! The store is a folder, or, if workers run the debates, their database. Debates that run together never exceed the budget.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
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
use crate::debate_runs::{
    Opened, Reservation, SharedBudget, has_ended, is_with_workers, ran_out, within,
};
use crate::failure::{Code, Failure};
use crate::models::ModelPolicy;
use crate::setup::estimate::DebateEstimate;
use crate::setup::{self, Models, PreparedDebate, ProgressSink};
use crate::store::{DebateRow, Lease, Store};

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
    /// Workers run the debates, which are in their database. This text, different for each bench, keeps their ids apart.
    pub on_workers: Option<String>,
}

pub(crate) struct Runner<'a> {
    pub app: &'a AppContext,
    pub store: Store,
    others: Vec<Store>,
    pub options: RunOptions,
    pub progress: ProgressSink,
    pub cancel: CancellationToken,
    budget: SharedBudget,
    /// The debates in the workers' database whose earlier cost is in the budget.
    counted: Mutex<HashSet<Uuid>>,
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
        let store = match &options.on_workers {
            Some(_) => app.store().await?,
            None => Store::open(folder).await?,
        };
        let mut others = Vec::new();
        for folder in &options.also {
            others.push(Store::open(folder).await?);
        }
        let mut spent = Money::ZERO;
        // The workers' database has other debates too: those of the bench are counted when they are looked for.
        if options.on_workers.is_none() {
            for id in store.ids().await? {
                spent = spent + cost_of(&store.entries(id).await?);
            }
        }
        let budget = SharedBudget::new(options.max_cost, spent);
        Ok(Self {
            app,
            store,
            others,
            options,
            progress,
            cancel,
            budget,
            counted: Mutex::default(),
            done: AtomicUsize::new(0),
        })
    }

    pub(crate) fn is_out_of_budget(&self) -> bool {
        self.budget.is_out()
    }

    /// Runs everything that is missing, several at once, and adds the journals. Interrupted debates are not added.
    pub(crate) async fn run_all(
        &self,
        questions: &[BenchQuestion],
        runs: &[Run<'_>],
        journals: &mut Journals,
    ) -> Result<(), Failure> {
        self.done.store(0, Ordering::Relaxed);
        self.count_earlier(questions, runs).await?;
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

    /// Adds the cost that debates in the workers' database had before this run.
    async fn count_earlier(
        &self,
        questions: &[BenchQuestion],
        runs: &[Run<'_>],
    ) -> Result<(), Failure> {
        if self.options.on_workers.is_none() || !self.budget.has_limit() {
            return Ok(());
        }
        for run in runs {
            let id = self.id(&questions[run.place], &run.unit);
            let is_new = {
                let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
                counted.insert(id)
            };
            if is_new && let Some(row) = self.store.get(id).await? {
                self.budget.add_spent(cost_so_far(Some(&row)));
            }
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
            if !self.budget.has_limit() || !ran_out(&entries) || !self.budget.may_spend() {
                return Ok(Some(entries));
            }
        }
        if self.is_stopped() || !self.budget.may_spend() {
            return Ok(None);
        }
        let before = cost_so_far(row.as_ref());
        let opened = match row {
            None => self.create(id, question, run).await,
            Some(row) => self.reopen(&row, run).await,
        };
        let (opened, reservation) = match opened {
            Ok(opened) => opened,
            // Even the shortest course costs more than what is left.
            Err(failure) if failure.code() == Code::Budget => {
                self.budget.run_out();
                return Ok(None);
            }
            Err(_) if self.cancel.is_cancelled() => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let ran = opened
            .finish(self.app, (&self.store, id), &self.cancel)
            .await;
        let ended = self.store.get(id).await?;
        let cost = cost_so_far(ended.as_ref()).saturating_sub(before);
        self.budget.release(&reservation, cost);
        ran?;
        if !ended.as_ref().is_some_and(has_ended) {
            return Ok(None);
        }
        Ok(Some(self.store.entries(id).await?))
    }

    fn is_stopped(&self) -> bool {
        self.cancel.is_cancelled() || self.is_out_of_budget()
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

    pub(crate) async fn prepare(
        &self,
        question: &BenchQuestion,
        unit: &Unit<'_>,
    ) -> Result<PreparedDebate, Failure> {
        let mut spec = unit.spec(question, &self.options.models)?;
        spec.budget = self.limits();
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

    /// The limits of one debate.
    fn limits(&self) -> Budget {
        within(self.options.budget, self.budget.left())
    }

    async fn create(
        &self,
        id: Uuid,
        question: &BenchQuestion,
        run: &Run<'_>,
    ) -> Result<(Opened, Reservation), Failure> {
        let setup = run.beginning.first();
        let mut prepared = match setup.and_then(|first| first.entry.event.setup()) {
            Some(setup) => self.prepare_again(setup.clone()).await?,
            None => self.prepare(question, &run.unit).await?,
        };
        let reservation = self.budget.reserve(&prepared, &self.cancel).await?;
        prepared.budget = within(prepared.budget, reservation.0);
        // A noise control has the setup of its debate.
        if run.beginning.is_empty() {
            prepared.setup.budget = prepared.budget;
        }
        match self.open_new(id, prepared, run).await {
            Ok(opened) => Ok((opened, reservation)),
            Err(failure) => {
                self.budget.release(&reservation, Money::ZERO);
                Err(failure)
            }
        }
    }

    async fn open_new(
        &self,
        id: Uuid,
        prepared: PreparedDebate,
        run: &Run<'_>,
    ) -> Result<Opened, Failure> {
        // A journal that begins with answers of others is played here.
        if self.options.on_workers.is_some() && run.beginning.is_empty() {
            return Opened::queued(&self.store, id, &prepared).await;
        }
        let lease = self.store.create(id, &prepared.setup, clock::now()).await?;
        self.begin(&lease, run, &[]).await?;
        Ok(Opened::Here(Box::new(lease), Box::new(prepared)))
    }

    async fn reopen(
        &self,
        row: &DebateRow,
        run: &Run<'_>,
    ) -> Result<(Opened, Reservation), Failure> {
        if self.options.on_workers.is_some() && is_with_workers(row) && run.beginning.is_empty() {
            return Ok((Opened::OnWorkers, Reservation(None)));
        }
        let lease = self.store.lease(row.id).await?;
        let mut prepared = self.prepare_again(lease.setup().clone()).await?;
        self.begin(&lease, run, &self.store.entries(row.id).await?)
            .await?;
        let reservation = self.budget.reserve(&prepared, &self.cancel).await?;
        // What it has cost before counts in its own limit.
        let limit = reservation.0.map(|held| held + cost_so_far(Some(row)));
        prepared.budget = within(self.options.budget, limit);
        Ok((
            Opened::Here(Box::new(lease), Box::new(prepared)),
            reservation,
        ))
    }

    async fn prepare_again(&self, setup: Setup) -> Result<PreparedDebate, Failure> {
        let policy = ModelPolicy::default();
        setup::prepare_resume(self.app, setup, self.limits(), policy, &self.progress).await
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
        let mut text = format!(
            "{}\n{}\n{}",
            self.options.seed,
            question.question.id,
            unit.key()
        );
        if let Some(bench) = &self.options.on_workers {
            text = format!("{bench}\n{text}");
        }
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

fn cost_so_far(row: Option<&DebateRow>) -> Money {
    row.and_then(|row| row.totals.cost_usd)
        .unwrap_or(Money::ZERO)
}
