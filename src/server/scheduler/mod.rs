//! The scheduler: runs at most `Limits::running` debates at once and queues the rest.
//!
//! Invariants: an accepted debate is in the store, so a killed server resumes it at its next start; an operation that a
//! client started is completed even if the client disconnects; a debate that waits for a person holds no slot; readers and
//! API clients never slow a debate down.
//!
//! All work that outlives a request is spawned here. `runner` plays one debate, `commands` acts on one for a client,
//! `recovery` takes up abandoned debates of a data folder, `cluster` shares the work with other processes.

mod call_gate;
mod cluster;
mod commands;
mod recovery;
mod runner;
#[cfg(test)]
pub(super) mod test_support;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use roundtable_engine::event::State;
use roundtable_engine::journal::JournalError;
use roundtable_engine::table::{DecisionError, Table};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::live::Feed;
use super::log;
use super::notifiers::Notifiers;
use super::tail::Tails;
use crate::app_context::AppContext;
use crate::clock;
use crate::embedded::Fetching;
use crate::failure::Failure;
use crate::setup::{PreparedDebate, ProgressSink};
use crate::store::{CreateRequest, Created, Lease, LeaseError, Store, StoreError};

use call_gate::CallGate;
pub(crate) use cluster::Work;
pub(crate) use commands::Continuation;

/// A released lease becomes visible to other processes a moment later.
const RELEASE_DELAY: Duration = Duration::from_millis(50);

/// How long model calls in flight may take to finish when the process closes.
pub(crate) const CALL_GRACE: Duration = Duration::from_secs(3);
const DRAIN_POLL_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub running: usize,
    pub queued: usize,
}

pub(crate) struct Scheduler {
    context: Arc<AppContext>,
    store: Store,
    limits: Limits,
    work: Work,
    state: Mutex<SchedulerState>,
    /// Incremented whenever a debate enters or leaves the scheduler.
    changes: watch::Sender<u64>,
    tasks: TaskTracker,
    closing: CancellationToken,
    /// Cancelled when calls in flight are dropped too.
    dropping_calls: CancellationToken,
    /// Debates that other processes run may have new entries.
    notifiers: Notifiers,
    /// The journals of debates that do not run here and have readers.
    tails: Tails,
    /// The shared queue may have work.
    work_available: Notify,
    /// No work is taken from the shared queue before this time.
    backoff_until: Mutex<Instant>,
    /// Cancelled when no more work is taken from the shared queue.
    draining: CancellationToken,
}

#[derive(Default)]
struct SchedulerState {
    debates: HashMap<Uuid, Arc<ActiveDebate>>,
    queue: VecDeque<Job>,
    running: usize,
    /// Slots held by requests that are being validated.
    reserved_to_run: usize,
    reserved_to_queue: usize,
    /// Debates whose last run stopped with an error that a retry would repeat. Only a client resumes them.
    given_up: HashSet<Uuid>,
}

/// A running or queued debate.
struct ActiveDebate {
    feed: Arc<Feed>,
    calls: Arc<CallGate>,
    cancel: CancellationToken,
    table: OnceLock<Arc<Table>>,
    /// Cancelled when `table` is set.
    table_ready: CancellationToken,
    /// Cancelled when the debate has left the scheduler.
    removed: CancellationToken,
}

struct Job {
    id: Uuid,
    source: JobSource,
}

enum JobSource {
    Prepared(Box<(Lease, PreparedDebate)>),
    /// For a client that resumes it.
    Leased(Box<Lease>),
    /// From the shared queue.
    Taken(Box<Lease>),
    /// Setup and budget are in the store.
    Stored,
}

/// All slots and queue positions are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// A reserved slot or queue position. Dropping it unused frees it.
pub(crate) struct Slot {
    scheduler: Arc<Scheduler>,
    /// `None` once used, or for a job that is queued regardless of the limit.
    kind: Option<SlotKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    Run,
    Queue,
}

/// Why a debate cannot be created or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchedulerError {
    #[error("there is no debate {0}")]
    NotFound(Uuid),
    /// With the current state, and what to do instead.
    #[error("{1}")]
    WrongState(State, String),
    #[error("another process is running this debate")]
    RunningElsewhere,
    #[error("the server is at capacity")]
    Full,
    #[error(transparent)]
    InvalidChoice(DecisionError),
    #[error("{}", .0.message())]
    Failed(Failure),
}

impl From<Full> for SchedulerError {
    fn from(Full: Full) -> Self {
        Self::Full
    }
}

impl From<Failure> for SchedulerError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<StoreError> for SchedulerError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<JournalError> for SchedulerError {
    fn from(error: JournalError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<LeaseError> for SchedulerError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Held { .. } => Self::RunningElsewhere,
            LeaseError::NotFound { id } => Self::NotFound(id),
            LeaseError::Store(error) => error.into(),
        }
    }
}

impl From<DecisionError> for SchedulerError {
    fn from(error: DecisionError) -> Self {
        match error {
            DecisionError::Journal(error) => error.into(),
            DecisionError::NotWaiting | DecisionError::NoSuchOption { .. } => {
                Self::InvalidChoice(error)
            }
        }
    }
}

impl Scheduler {
    pub(crate) fn open(
        context: Arc<AppContext>,
        store: Store,
        limits: Limits,
        work: Work,
    ) -> Arc<Self> {
        Arc::new(Self {
            context,
            store,
            limits,
            work,
            state: Mutex::default(),
            changes: watch::Sender::new(0),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            notifiers: Notifiers::default(),
            tails: Tails::default(),
            work_available: Notify::new(),
            backoff_until: Mutex::new(Instant::now()),
            draining: CancellationToken::new(),
            dropping_calls: CancellationToken::new(),
        })
    }

    pub(super) fn notifiers(&self) -> &Notifiers {
        &self.notifiers
    }

    pub(super) fn tails(&self) -> &Tails {
        &self.tails
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Reserves a slot while a debate is being prepared.
    pub(crate) fn reserve(self: &Arc<Self>) -> Result<Slot, Full> {
        let mut state = self.lock();
        let is_idle = state.queue.is_empty() && state.reserved_to_queue == 0;
        let is_here = self.work == Work::Here;
        let kind =
            if is_here && is_idle && state.running + state.reserved_to_run < self.limits.running {
                state.reserved_to_run += 1;
                SlotKind::Run
            } else if state.queue.len() + state.reserved_to_queue < self.limits.queued {
                state.reserved_to_queue += 1;
                SlotKind::Queue
            } else {
                return Err(Full);
            };
        Ok(self.slot(Some(kind)))
    }

    fn slot(self: &Arc<Self>, kind: Option<SlotKind>) -> Slot {
        let scheduler = Arc::clone(self);
        Slot { scheduler, kind }
    }

    /// Completes an operation. A client that disconnects drops its request but not the operation, which would otherwise stop
    /// between two writes.
    pub(crate) async fn complete<T, E>(
        &self,
        operation: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, SchedulerError>
    where
        T: Send + 'static,
        E: Into<SchedulerError> + Send + 'static,
    {
        match self.tasks.spawn(operation).await {
            Ok(outcome) => outcome.map_err(Into::into),
            Err(error) => Err(Failure::other(format!("the operation stopped: {error}")).into()),
        }
    }

    /// Creates a debate in the store, then starts or queues it.
    pub(crate) async fn create(
        self: &Arc<Self>,
        slot: Slot,
        prepared: PreparedDebate,
        sent: &CreateRequest,
    ) -> Result<Created, SchedulerError> {
        let (scheduler, sent) = (Arc::clone(self), sent.clone());
        self.complete(async move { scheduler.create_now(slot, prepared, &sent).await })
            .await
    }

    async fn create_now(
        self: &Arc<Self>,
        slot: Slot,
        prepared: PreparedDebate,
        sent: &CreateRequest,
    ) -> Result<Created, SchedulerError> {
        let id = Uuid::new_v4();
        let state = slot.state();
        let now = clock::now();
        if self.store.is_shared() && state == State::Queued {
            // The first process with a free slot runs it, possibly this one.
            if self.store.queue_length().await? >= self.limits.queued as u64 {
                return Err(SchedulerError::Full);
            }
            let setup = &prepared.setup;
            return Ok(self.store.create_queued(id, setup, now, sent).await?);
        }
        let created = self
            .store
            .create_for_server(id, &prepared.setup, now, state, sent)
            .await?;
        let lease = match created {
            Created::New(lease) => lease,
            Created::Existing(id) => return Ok(Created::Existing(id)),
            Created::KeyConflict => return Ok(Created::KeyConflict),
        };
        let source = JobSource::Prepared(Box::new((*lease, prepared)));
        self.submit(slot, Job { id, source });
        Ok(Created::New(id))
    }

    pub(super) fn feed(&self, id: Uuid) -> Option<Arc<Feed>> {
        self.debate(id).map(|debate| Arc::clone(&debate.feed))
    }

    /// Changes whenever a debate enters or leaves the scheduler.
    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn has(&self, id: Uuid) -> bool {
        self.lock().debates.contains_key(&id)
    }

    /// The number of debates ahead of this one in the local queue.
    pub(crate) fn queue_position(&self, id: Uuid) -> Option<usize> {
        self.lock().queue.iter().position(|job| job.id == id)
    }

    /// The number of running and of locally queued debates.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.lock();
        (state.running, state.queue.len())
    }

    /// Waits until a debate is no longer running or queued, or until the timeout.
    pub(crate) async fn wait_for(self: &Arc<Self>, id: Uuid, timeout: Duration) {
        let debate = self.debate(id);
        let stopped = async {
            match debate {
                Some(debate) => debate.removed.cancelled().await,
                // Another process runs it, or it is about to be taken up here.
                None => self.wait_for_remote(id).await,
            }
        };
        tokio::select! {
            () = stopped => {}
            () = self.closing.cancelled() => {}
            () = tokio::time::sleep(timeout) => {}
        }
    }

    /// Starts nothing more. Model calls in flight get [`CALL_GRACE`] to finish, or until `hurry` resolves. Running debates stay
    /// `running` in the store and are resumed at the next start.
    pub(crate) async fn close(&self, deadline: Duration, hurry: impl Future<Output = ()>) {
        self.closing.cancel();
        self.tasks.close();
        let finished = tokio::time::timeout(CALL_GRACE, self.tasks.wait());
        tokio::select! {
            biased;
            _ = finished => {}
            () = hurry => {}
        }
        self.dropping_calls.cancel();
        let _ = tokio::time::timeout(deadline, self.tasks.wait()).await;
    }

    /// Waits until the answers of all calls in flight are journaled, or until they are dropped.
    async fn calls_finished(&self, debate: &ActiveDebate) {
        let finished = async {
            while !debate.calls.is_drained(debate.feed.lock().turns.len()) {
                tokio::time::sleep(DRAIN_POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            () = finished => {}
            () = self.dropping_calls.cancelled() => {}
        }
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Downloads the embedder in the background if it is missing, so that no debate of a client does.
    pub(super) fn fetch_embedder(self: &Arc<Self>) {
        let scheduler = Arc::clone(self);
        self.tasks.spawn(async move {
            let fetching = scheduler.context.fetch_embedder(progress_sink().fetching);
            tokio::select! {
                () = scheduler.closing.cancelled() => {}
                fetched = fetching => if let Err(failure) = fetched {
                    log::note(&format!("debates continue without an embedder: {}", failure.message()));
                }
            }
        });
    }

    /// Also tracks the tasks of connections, so that `close` waits for both.
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    async fn debate_state(&self, id: Uuid) -> Result<State, SchedulerError> {
        let row = self.store.get(id).await?;
        row.map(|row| row.state).ok_or(SchedulerError::NotFound(id))
    }

    fn debate(&self, id: Uuid) -> Option<Arc<ActiveDebate>> {
        self.lock().debates.get(&id).cloned()
    }

    fn remove_from_queue(&self, id: Uuid) -> bool {
        let mut state = self.lock();
        let before = state.queue.len();
        state.queue.retain(|job| job.id != id);
        let was_queued = state.queue.len() < before;
        let debate = was_queued.then(|| state.debates.remove(&id)).flatten();
        drop(state);
        if let Some(debate) = debate {
            self.announce_removal(id, &debate);
        }
        was_queued
    }

    /// Runs a stored debate, even if the queue is full: it was accepted before.
    fn submit_stored(self: &Arc<Self>, id: Uuid) {
        let slot = self.reserve().unwrap_or_else(|Full| self.slot(None));
        let source = JobSource::Stored;
        self.submit(slot, Job { id, source });
    }

    /// Runs a leased debate: here, or in any process that shares the store.
    fn submit_leased(self: &Arc<Self>, slot: Slot, lease: Box<Lease>) {
        let id = lease.id();
        if !self.store.is_shared() {
            let source = JobSource::Leased(lease);
            return self.submit(slot, Job { id, source });
        }
        // It is marked as runnable in the store. Any process with a free slot takes it.
        drop(lease);
        let store = self.store.clone();
        self.tasks.spawn(async move {
            tokio::time::sleep(RELEASE_DELAY).await;
            // If this fails or is too early, the next poll finds it.
            let _ = store.enqueue_job(id).await;
        });
    }

    /// Starts or queues a debate. Does nothing if it is already here.
    fn submit(self: &Arc<Self>, mut slot: Slot, job: Job) {
        let id = job.id;
        let debate = Arc::new(ActiveDebate {
            feed: Feed::new(),
            calls: CallGate::new(self.closing.clone()),
            cancel: CancellationToken::new(),
            table: OnceLock::new(),
            table_ready: CancellationToken::new(),
            removed: CancellationToken::new(),
        });
        let mut state = self.lock();
        if state.debates.contains_key(&id) {
            // The job and the slot, when dropped, need the lock.
            drop(state);
            return;
        }
        state.debates.insert(id, Arc::clone(&debate));
        state.given_up.remove(&id);
        match slot.kind.take() {
            Some(SlotKind::Run) => {
                state.reserved_to_run -= 1;
                state.running += 1;
                drop(state);
                self.start(job, debate);
            }
            Some(SlotKind::Queue) => {
                state.reserved_to_queue -= 1;
                state.queue.push_back(job);
                drop(state);
                self.start_queued();
            }
            None => {
                state.queue.push_back(job);
                drop(state);
                self.start_queued();
            }
        }
        self.announce(id);
    }

    /// Frees the slot of a debate whose run has stopped.
    fn release(self: &Arc<Self>, id: Uuid, debate: &Arc<ActiveDebate>) {
        {
            let mut state = self.lock();
            state.running -= 1;
            // It may have been submitted again meanwhile.
            let is_same = |current: &Arc<ActiveDebate>| Arc::ptr_eq(current, debate);
            if state.debates.get(&id).is_some_and(is_same) {
                state.debates.remove(&id);
            }
        }
        self.announce_removal(id, debate);
        if !self.closing.is_cancelled() {
            self.start_queued();
        }
    }

    fn announce_removal(&self, id: Uuid, debate: &ActiveDebate) {
        debate.removed.cancel();
        debate.feed.close();
        self.announce(id);
    }

    /// A debate has entered or left the scheduler.
    fn announce(&self, id: Uuid) {
        self.changes.send_modify(|count| *count += 1);
        self.tails.wake(id);
    }

    /// Starts queued debates while there are free slots.
    fn start_queued(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                if state.running + state.reserved_to_run >= self.limits.running {
                    return;
                }
                let Some(job) = state.queue.pop_front() else {
                    return;
                };
                let debate = state.debates.get(&job.id).cloned();
                if debate.is_some() {
                    state.running += 1;
                }
                debate.map(|debate| (job, debate))
            };
            if let Some((job, debate)) = next {
                self.start(job, debate);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// The initial state of a debate that uses this slot.
    pub(crate) fn state(&self) -> State {
        match self.kind {
            Some(SlotKind::Run) => State::Running,
            Some(SlotKind::Queue) | None => State::Queued,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(kind) = self.kind.take() else {
            return;
        };
        {
            let mut state = self.scheduler.lock();
            match kind {
                SlotKind::Run => state.reserved_to_run -= 1,
                SlotKind::Queue => state.reserved_to_queue -= 1,
            }
        }
        self.scheduler.start_queued();
    }
}

/// Logs model downloads while a debate is being prepared.
pub(crate) fn progress_sink() -> ProgressSink {
    ProgressSink {
        fetching: Arc::new(|progress| match progress {
            Fetching::Plan(attempts) => {
                log::note(&format!("downloading one of: {}", attempts.join("; ")));
            }
            Fetching::Progress { .. } => {}
            Fetching::Done(path) => log::note(&format!("downloaded {}", path.display())),
            Fetching::Note(text) => log::note(&text),
        }),
        say: Box::new(|_| {}),
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
