//! The scheduler: all debates that this server runs, as many at once as it may, the others in a queue.
//!
//! It promises: what it has taken is in the store, so a server that is killed takes it up again at its next start; a
//! debate that waits for a person takes no place; nobody who reads or asks here slows a debate.
//!
//! This is the one place of the server where work is started that outlives a request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use roundtable_engine::event::{End, State};
use roundtable_engine::journal::JournalError;
use roundtable_engine::protocols;
use roundtable_engine::table::{
    Budget, CONTINUE, Halt, Table, Unheard, decide, end_meanwhile, open_question, say_meanwhile,
};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::cluster::{REST, Work};
use super::live::Feed;
use super::log;
use super::notifiers::Notifiers;
use crate::app_context::AppContext;
use crate::clock;
use crate::embedded::Fetching;
use crate::failure::Failure;
use crate::setup::{self, PreparedDebate, ProgressSink};
use crate::store::{
    Command, CommandOutcome, CreateRequest, Created, Lease, LeaseError, Store, StoreError,
};

/// How long a request waits for a debate to leave the scheduler.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

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
    taken: Mutex<SchedulerState>,
    /// Counts up whenever a debate comes onto the scheduler or leaves it.
    traffic: watch::Sender<u64>,
    tasks: TaskTracker,
    closing: CancellationToken,
    others: Others,
}

/// What a scheduler among others needs beyond its own.
struct Others {
    notifiers: Notifiers,
    /// Somebody has called for work.
    call: Notify,
    /// Nothing is taken before this time.
    rest_until: Mutex<Instant>,
    /// Cancelled when nothing more is to be taken.
    draining: CancellationToken,
}

#[derive(Default)]
struct SchedulerState {
    debates: HashMap<Uuid, Arc<Debate>>,
    queue: VecDeque<Job>,
    running: usize,
    /// Promised to requests that are being looked at.
    reserved_to_run: usize,
    reserved_to_wait: usize,
}

/// A debate on the scheduler, running or queued.
struct Debate {
    feed: Arc<Feed>,
    cancel: CancellationToken,
    table: OnceLock<Arc<Table>>,
    /// Cancelled when the table is laid.
    laid: CancellationToken,
    /// Cancelled when it has left the scheduler.
    gone: CancellationToken,
}

struct Job {
    id: Uuid,
    ready: Ready,
}

enum Ready {
    PreparedDebate(Box<(Lease, PreparedDebate)>),
    Claimed(Box<Lease>),
    /// Its setup is in the store. `budget` where it is to be another than it was opened with.
    Stored {
        budget: Option<Budget>,
    },
}

impl Ready {
    fn budget(&self) -> Option<Budget> {
        match self {
            Self::Stored { budget } => *budget,
            Self::PreparedDebate(_) | Self::Claimed(_) => None,
        }
    }
}

/// The server has as many debates as it may run and keep in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// A place on the scheduler that is kept free until it is used or dropped.
pub(crate) struct Slot {
    scheduler: Arc<Scheduler>,
    sort: Option<Sort>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Run,
    Wait,
}

/// Why something cannot be done with a debate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unable {
    #[error("there is no debate {0}")]
    NotFound(Uuid),
    /// With the state that it has, and what to do instead.
    #[error("{1}")]
    State(State, String),
    #[error("another process is running this debate")]
    Elsewhere,
    #[error("the server is busy")]
    Full,
    #[error(transparent)]
    Choice(Unheard),
    #[error("{}", .0.message())]
    Failed(Failure),
}

impl From<StoreError> for Unable {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<JournalError> for Unable {
    fn from(error: JournalError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<LeaseError> for Unable {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Held { .. } => Self::Elsewhere,
            LeaseError::NotFound { id } => Self::NotFound(id),
            LeaseError::Store(error) => error.into(),
        }
    }
}

impl From<Unheard> for Unable {
    fn from(error: Unheard) -> Self {
        match error {
            Unheard::Journal(error) => error.into(),
            Unheard::NothingAsked | Unheard::NoSuchOption { .. } => Self::Choice(error),
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
            taken: Mutex::default(),
            traffic: watch::Sender::new(0),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            others: Others {
                notifiers: Notifiers::default(),
                call: Notify::new(),
                rest_until: Mutex::new(Instant::now()),
                draining: CancellationToken::new(),
            },
        })
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn notifiers(&self) -> &Notifiers {
        &self.others.notifiers
    }

    /// There may be work.
    pub(super) fn call(&self) {
        self.others.call.notify_one();
    }

    pub(super) async fn called(&self) {
        self.others.call.notified().await;
    }

    pub(super) fn rest_until(&self, then: Instant) {
        let until = self.others.rest_until.lock();
        *until.unwrap_or_else(PoisonError::into_inner) = then;
    }

    pub(super) fn rested(&self) -> bool {
        let until = self.others.rest_until.lock();
        Instant::now() >= *until.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stop_taking(&self) {
        self.others.draining.cancel();
    }

    /// For how many more debates there is a place here.
    pub(super) fn free_places(&self) -> usize {
        if self.work == Work::Elsewhere || self.others.draining.is_cancelled() {
            return 0;
        }
        let taken = self.lock();
        let used = taken.running + taken.reserved_to_run;
        self.limits.running.saturating_sub(used)
    }

    /// Runs a debate that was taken for one of the free places.
    pub(super) fn run_claimed(self: &Arc<Self>, lease: Lease) {
        let id = lease.id();
        self.lock().reserved_to_run += 1;
        let place = Slot {
            scheduler: Arc::clone(self),
            sort: Some(Sort::Run),
        };
        let ready = Ready::Claimed(Box::new(lease));
        self.submit(place, Job { id, ready });
    }

    /// A place for one more debate, to be kept while it is being prepared.
    pub(crate) fn reserve(self: &Arc<Self>) -> Result<Slot, Full> {
        let mut taken = self.lock();
        let is_idle = taken.queue.is_empty() && taken.reserved_to_wait == 0;
        let is_here = self.work == Work::Here;
        let sort =
            if is_here && is_idle && taken.running + taken.reserved_to_run < self.limits.running {
                taken.reserved_to_run += 1;
                Sort::Run
            } else if taken.queue.len() + taken.reserved_to_wait < self.limits.queued {
                taken.reserved_to_wait += 1;
                Sort::Wait
            } else {
                return Err(Full);
            };
        Ok(Slot {
            scheduler: Arc::clone(self),
            sort: Some(sort),
        })
    }

    /// Makes a debate in the store and begins it, or puts it into the queue.
    pub(crate) async fn create(
        self: &Arc<Self>,
        place: Slot,
        prepared: PreparedDebate,
        sent: &CreateRequest,
    ) -> Result<Created, Unable> {
        let id = Uuid::new_v4();
        let state = place.state();
        let now = clock::now();
        if self.store.is_shared() && state == State::Queued {
            // Whoever has a place first runs it; it may well be this server.
            if self.store.queue_length().await? >= self.limits.queued as u64 {
                return Err(Unable::Full);
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
        self.submit(
            place,
            Job {
                id,
                ready: Ready::PreparedDebate(Box::new((*lease, prepared))),
            },
        );
        Ok(Created::New(id))
    }

    /// Goes on with all debates that a server was running or had in its queue when it ended.
    pub(crate) async fn take_up_again(self: &Arc<Self>) -> Result<usize, StoreError> {
        let left = self.store.interrupted_server_debates().await?;
        let count = left.len();
        for id in left {
            log::note(&format!("taking up debate {id} again"));
            self.submit_stored(id, None);
        }
        Ok(count)
    }

    /// The live part of a debate that is on the scheduler.
    pub(super) fn feed(&self, id: Uuid) -> Option<Arc<Feed>> {
        let taken = self.lock();
        taken
            .debates
            .get(&id)
            .map(|debate| Arc::clone(&debate.feed))
    }

    /// Changes whenever a debate comes or leaves.
    pub(super) fn traffic(&self) -> watch::Receiver<u64> {
        self.traffic.subscribe()
    }

    pub(crate) fn has(&self, id: Uuid) -> bool {
        self.lock().debates.contains_key(&id)
    }

    /// How many stand before it in the queue.
    pub(crate) fn queue_position(&self, id: Uuid) -> Option<usize> {
        let taken = self.lock();
        taken.queue.iter().position(|job| job.id == id)
    }

    /// How many run, and how many wait for that.
    pub(crate) fn load(&self) -> (usize, usize) {
        let taken = self.lock();
        (taken.running, taken.queue.len())
    }

    /// Whether it is to stop before its next round.
    pub(crate) fn is_to_pause(&self, id: Uuid) -> bool {
        self.table(id).is_some_and(|table| table.is_to_pause())
    }

    /// Waits until a debate is no longer on the scheduler, at most for this long.
    pub(crate) async fn wait_for(&self, id: Uuid, most: Duration) {
        let gone = self.lock().debates.get(&id).map(|it| it.gone.clone());
        if let Some(gone) = gone {
            tokio::select! {
                () = gone.cancelled() => {}
                () = self.closing.cancelled() => {}
                () = tokio::time::sleep(most) => {}
            }
        } else if self.store.is_shared() {
            tokio::select! {
                () = self.wait_for_others(id) => {}
                () = self.closing.cancelled() => {}
                () = tokio::time::sleep(most) => {}
            }
        }
    }

    /// A person speaks. Gives the number of their words.
    pub(crate) async fn say(
        &self,
        id: Uuid,
        text: String,
        by: Option<String>,
    ) -> Result<u32, Unable> {
        if let Some(table) = self.table_soon(id).await {
            return Ok(table.say(text, by).await?);
        }
        let state = self.state(id).await?;
        if state == State::Running && self.store.is_shared() {
            return match self.command(id, Command::Say { text, by }).await? {
                CommandOutcome::Heard(number) => Ok(number),
                CommandOutcome::Done(_) | CommandOutcome::Refused(..) => Err(Unable::Elsewhere),
            };
        }
        if state != State::Waiting {
            let why = if state == State::Queued {
                "the debate has not begun; speak when it runs"
            } else {
                "the debate is not running, so nobody would hear it"
            };
            return Err(Unable::State(state, why.into()));
        }
        let lease = self.claim_at_rest(id).await?;
        let journal = lease.journal();
        Ok(say_meanwhile(journal.as_ref(), clock::now(), text, by).await?)
    }

    /// The debate stops before its next round.
    pub(crate) async fn pause(&self, id: Uuid) -> Result<State, Unable> {
        if let Some(table) = self.table_soon(id).await {
            table.pause();
            return Ok(State::Running);
        }
        match self.state(id).await? {
            State::Waiting => Ok(State::Waiting),
            State::Running if self.store.is_shared() => {
                self.request_command(id, Command::Pause).await
            }
            state @ (State::Queued
            | State::Running
            | State::Complete
            | State::Partial
            | State::Failed
            | State::Cancelled) => Err(Unable::State(
                state,
                "only a running debate can be paused".into(),
            )),
        }
    }

    /// Decides what a debate waits for, and lets it go on.
    pub(crate) async fn decide(
        self: &Arc<Self>,
        id: Uuid,
        choice: String,
        by: Option<String>,
        note: Option<String>,
    ) -> Result<State, Unable> {
        let place = self.reserve().map_err(|Full| Unable::Full)?;
        let state = self.state(id).await?;
        if state != State::Waiting {
            // It may have a pause before it that can be taken back.
            if let Some(table) = self.table(id).filter(|table| table.is_to_pause())
                && choice == CONTINUE
            {
                table.unpause();
                return Ok(state);
            }
            if state == State::Running && choice == CONTINUE && self.store.is_shared() {
                return self.request_command(id, Command::Continue).await;
            }
            return Err(Unable::State(
                state,
                "the debate waits for no decision".into(),
            ));
        }
        let lease = self.claim_at_rest(id).await?;
        decide(lease.journal().as_ref(), clock::now(), choice, by, note).await?;
        drop(lease);
        let state = place.state();
        self.submit(
            place,
            Job {
                id,
                ready: Ready::Stored { budget: None },
            },
        );
        Ok(state)
    }

    /// Goes on with a debate that is over but not complete, that was paused, or that nobody runs any more.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        id: Uuid,
        budget: Option<Budget>,
    ) -> Result<State, Unable> {
        let state = self.state(id).await?;
        if let Some(table) = self.table(id) {
            table.unpause();
            return Ok(State::Running);
        }
        if self.has(id) {
            return Ok(state);
        }
        match state {
            State::Complete => {
                return Err(Unable::State(
                    state,
                    "the debate is complete; there is nothing to resume".into(),
                ));
            }
            State::Waiting => {
                let entries = self.store.entries(id).await?;
                let options = open_question(&entries).map(|query| query.options.as_slice());
                let is_pause = options.unwrap_or_default().iter().any(|it| it == CONTINUE);
                if !is_pause {
                    let why = "the debate waits for a decision; make it with …/decision";
                    return Err(Unable::State(state, why.into()));
                }
                return self.decide(id, CONTINUE.into(), None, None).await;
            }
            State::Queued | State::Running | State::Partial | State::Failed | State::Cancelled => {}
        }
        let place = self.reserve().map_err(|Full| Unable::Full)?;
        // Whether somebody else runs it must be known now, not when its turn comes.
        match self.store.lease_for_server(id).await {
            Ok(lease) => drop(lease),
            Err(LeaseError::Held { .. }) if self.store.is_shared() => {
                return self.request_command(id, Command::Continue).await;
            }
            Err(error) => return Err(error.into()),
        }
        if state != State::Running || self.store.is_shared() {
            self.store.requeue(id, budget.as_ref()).await?;
        }
        let state = place.state();
        self.submit(
            place,
            Job {
                id,
                ready: Ready::Stored { budget },
            },
        );
        Ok(state)
    }

    /// Ends a debate. What was said is kept, and it can be resumed.
    pub(crate) async fn cancel(&self, id: Uuid) -> Result<State, Unable> {
        if self.drop_from_queue(id) {
            self.end_at_rest(id).await?;
            return Ok(State::Cancelled);
        }
        if self.has(id) {
            return self.cancel_here(id).await;
        }
        match self.state(id).await? {
            State::Waiting | State::Queued | State::Running => match self.end_at_rest(id).await {
                Ok(()) => Ok(State::Cancelled),
                Err(Unable::Elsewhere) => self.request_command(id, Command::Cancel).await,
                Err(unable) => Err(unable),
            },
            state @ (State::Complete | State::Partial | State::Failed | State::Cancelled) => {
                Err(Unable::State(state, "the debate is over".into()))
            }
        }
    }

    pub(super) async fn cancel_here(&self, id: Uuid) -> Result<State, Unable> {
        let running = self.lock().debates.get(&id).map(|it| it.cancel.clone());
        if let Some(cancel) = running {
            cancel.cancel();
            self.wait_for(id, PATIENCE).await;
        }
        self.state(id).await
    }

    /// No more is begun; what runs is left as it is, for the next start.
    pub(crate) async fn close(&self, deadline: Duration) {
        self.closing.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(deadline, self.tasks.wait()).await;
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// The tasks of connections live and end with those of the debates.
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(super) async fn state(&self, id: Uuid) -> Result<State, Unable> {
        let row = self.store.get(id).await?;
        row.map(|row| row.state).ok_or(Unable::NotFound(id))
    }

    fn table(&self, id: Uuid) -> Option<Arc<Table>> {
        let taken = self.lock();
        taken.debates.get(&id)?.table.get().cloned()
    }

    /// A debate that has just begun may not have its table yet; one in the queue will not have it soon.
    pub(super) async fn table_soon(&self, id: Uuid) -> Option<Arc<Table>> {
        let debate = {
            let taken = self.lock();
            if taken.queue.iter().any(|job| job.id == id) {
                return None;
            }
            Arc::clone(taken.debates.get(&id)?)
        };
        tokio::select! {
            () = debate.laid.cancelled() => {}
            () = debate.gone.cancelled() => return None,
            () = tokio::time::sleep(PATIENCE) => {}
        }
        debate.table.get().cloned()
    }

    /// A debate that has just stopped to wait may still be on its way off the scheduler.
    async fn claim_at_rest(&self, id: Uuid) -> Result<Lease, Unable> {
        let gone = self.lock().debates.get(&id).map(|it| it.gone.clone());
        if let Some(gone) = gone {
            let _ = tokio::time::timeout(PATIENCE, gone.cancelled()).await;
        }
        Ok(self.store.lease_for_server(id).await?)
    }

    async fn end_at_rest(&self, id: Uuid) -> Result<(), Unable> {
        let lease = self.claim_at_rest(id).await?;
        let end = End {
            state: State::Cancelled,
            reason: Some("cancelled".into()),
            result: None,
        };
        let journal = lease.journal();
        end_meanwhile(journal.as_ref(), clock::now(), lease.setup(), end).await?;
        Ok(())
    }

    fn drop_from_queue(&self, id: Uuid) -> bool {
        let mut taken = self.lock();
        let before = taken.queue.len();
        taken.queue.retain(|job| job.id != id);
        let was_queued = taken.queue.len() < before;
        let debate = was_queued.then(|| taken.debates.remove(&id)).flatten();
        drop(taken);
        if let Some(debate) = debate {
            self.reject(&debate);
        }
        was_queued
    }

    fn submit_stored(self: &Arc<Self>, id: Uuid, budget: Option<Budget>) {
        // What a server has taken is never refused by the next.
        let place = self.reserve().unwrap_or(Slot {
            scheduler: Arc::clone(self),
            sort: None,
        });
        self.submit(
            place,
            Job {
                id,
                ready: Ready::Stored { budget },
            },
        );
    }

    fn submit(self: &Arc<Self>, mut place: Slot, job: Job) {
        if self.store.is_shared() && matches!(job.ready, Ready::Stored { .. }) {
            // It is in the store as one to be run, and whoever has a place runs it: this server, or another.
            let (store, id) = (self.store.clone(), job.id);
            self.tasks.spawn(async move {
                // What was let go of is free a moment later. Whoever looks next finds it if this is too soon.
                tokio::time::sleep(Duration::from_millis(50)).await;
                let _ = store.enqueue_job(id).await;
            });
            return;
        }
        let sort = place.sort.take();
        let debate = Arc::new(Debate {
            feed: Feed::new(),
            cancel: CancellationToken::new(),
            table: OnceLock::new(),
            laid: CancellationToken::new(),
            gone: CancellationToken::new(),
        });
        let mut taken = self.lock();
        taken.debates.insert(job.id, Arc::clone(&debate));
        match sort {
            Some(Sort::Run) => {
                taken.reserved_to_run -= 1;
                taken.running += 1;
                drop(taken);
                self.begin(job, debate);
            }
            Some(Sort::Wait) => {
                taken.reserved_to_wait -= 1;
                taken.queue.push_back(job);
                drop(taken);
                self.fill();
            }
            None => {
                taken.queue.push_back(job);
                drop(taken);
            }
        }
        self.traffic.send_modify(|count| *count += 1);
    }

    fn begin(self: &Arc<Self>, job: Job, debate: Arc<Debate>) {
        let scheduler = Arc::clone(self);
        self.tasks.spawn(async move {
            let id = job.id;
            let budget = job.ready.budget();
            let mut is_put_off = false;
            tokio::select! {
                biased;
                // It stays `running` in the store, and is taken up again by the next server.
                () = scheduler.closing.cancelled() => {}
                outcome = scheduler.play(job, &debate) => {
                    if let Err(failure) = &outcome {
                        scheduler.backoff();
                        // Where the store is shared, whoever has a place finds it there.
                        is_put_off = failure.is_transient() && !scheduler.store.is_shared();
                    }
                    report(id, outcome);
                }
            }
            scheduler.leave(id, &debate);
            if is_put_off {
                scheduler.resume_later(id, budget).await;
            }
        });
    }

    /// Takes up again what the store has stopped, as soon as that can be used again.
    async fn resume_later(self: &Arc<Self>, id: Uuid, budget: Option<Budget>) {
        loop {
            tokio::select! {
                () = self.closing.cancelled() => return,
                () = tokio::time::sleep(REST) => {}
            }
            match self.state(id).await {
                Ok(State::Running | State::Queued) if !self.has(id) => {
                    log::note(&format!("going on with debate {id}"));
                    return self.submit_stored(id, budget);
                }
                // Somebody else has seen to it.
                Ok(_) | Err(Unable::NotFound(_)) => return,
                Err(_) => {}
            }
        }
    }

    fn leave(self: &Arc<Self>, id: Uuid, debate: &Arc<Debate>) {
        {
            let mut taken = self.lock();
            taken.running -= 1;
            let is_same = |it: &Arc<Debate>| Arc::ptr_eq(it, debate);
            if taken.debates.get(&id).is_some_and(is_same) {
                taken.debates.remove(&id);
            }
        }
        self.reject(debate);
        if !self.closing.is_cancelled() {
            self.fill();
        }
    }

    fn reject(&self, debate: &Debate) {
        debate.gone.cancel();
        debate.feed.close();
        self.traffic.send_modify(|count| *count += 1);
    }

    /// Begins what the queue holds, as far as there are places.
    fn fill(self: &Arc<Self>) {
        loop {
            let next = {
                let mut taken = self.lock();
                if taken.running + taken.reserved_to_run >= self.limits.running {
                    return;
                }
                let Some(job) = taken.queue.pop_front() else {
                    return;
                };
                let debate = taken.debates.get(&job.id).cloned();
                if debate.is_some() {
                    taken.running += 1;
                }
                debate.map(|debate| (job, debate))
            };
            if let Some((job, debate)) = next {
                self.begin(job, debate);
            }
        }
    }

    async fn play(&self, job: Job, debate: &Debate) -> Result<State, Failure> {
        let (lease, prepared) = match job.ready {
            Ready::PreparedDebate(ready) => *ready,
            Ready::Claimed(lease) => self.prepare_again(*lease, None).await?,
            Ready::Stored { budget } => {
                let lease = self.store.lease_for_server(job.id).await?;
                self.prepare_again(lease, budget).await?
            }
        };
        let lost = lease.lost();
        let played = tokio::select! {
            biased;
            // No model is called any more. Whoever holds the debate now goes on from its journal.
            () = lost.cancelled() => return Err(Failure::other("it may be in other hands by now")),
            played = self.play_claimed(&lease, prepared, debate) => played,
        };
        match played {
            Ok(end) => Ok(end.state),
            Err(Stopped::Halt(Halt::Waiting { .. })) => Ok(State::Waiting),
            Err(Stopped::Halt(halt @ Halt::Journal(_))) => Err(halt.into()),
            Err(Stopped::Halt(halt)) => self.give_up(&lease, halt.into()).await,
            Err(Stopped::Failure(failure)) => self.give_up(&lease, failure).await,
        }
    }

    async fn prepare_again(
        &self,
        lease: Lease,
        budget: Option<Budget>,
    ) -> Result<(Lease, PreparedDebate), Failure> {
        let id = lease.id();
        let setup = lease.setup().clone();
        let past = self.store.entries(id).await?;
        let wanted = self.store.budget(id).await?;
        let budget = budget.or(wanted).unwrap_or(if setup::ran_out(&past) {
            Budget::default()
        } else {
            setup.budget
        });
        let prepared = setup::prepare_resume(&self.context, setup, budget, &progress_sink()).await;
        match prepared {
            Ok(prepared) => Ok((lease, prepared)),
            Err(failure) => {
                self.give_up(&lease, failure.clone()).await?;
                Err(failure)
            }
        }
    }

    async fn play_claimed(
        &self,
        lease: &Lease,
        prepared: PreparedDebate,
        debate: &Debate,
    ) -> Result<Arc<End>, Stopped> {
        let journal = lease.journal();
        let cancel = debate.cancel.clone();
        let (table, protocol) = setup::open_table(&self.context, prepared, journal, cancel)
            .await
            .map_err(Stopped::Failure)?;
        let feed = Arc::clone(&debate.feed);
        feed.begin(table.last_seq());
        table.set_observer(Box::new(move |notice| feed.take_up(notice)));
        let table = Arc::new(table);
        let table = debate.table.get_or_init(|| table);
        debate.laid.cancel();
        protocols::play(table, protocol)
            .await
            .map_err(Stopped::Halt)
    }

    /// A debate that cannot be played says so, instead of being tried at every start.
    async fn give_up(&self, lease: &Lease, failure: Failure) -> Result<State, Failure> {
        let end = End {
            state: State::Failed,
            reason: Some(failure.message().to_owned()),
            result: None,
        };
        let journal = lease.journal();
        end_meanwhile(journal.as_ref(), clock::now(), lease.setup(), end)
            .await
            .map_err(|error| Failure::from(error).after(failure.message()))?;
        Ok(State::Failed)
    }

    fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(id: Uuid, outcome: Result<State, Failure>) {
    match outcome {
        Ok(state) => log::note(&format!("debate {id} is {}", state.name())),
        Err(failure) => log::note(&format!("debate {id} stopped: {}", failure.message())),
    }
}

enum Stopped {
    Halt(Halt),
    Failure(Failure),
}

impl Slot {
    /// The state of a debate that gets this place.
    pub(crate) fn state(&self) -> State {
        match self.sort {
            Some(Sort::Run) => State::Running,
            Some(Sort::Wait) | None => State::Queued,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(sort) = self.sort.take() else {
            return;
        };
        {
            let mut taken = self.scheduler.lock();
            match sort {
                Sort::Run => taken.reserved_to_run -= 1,
                Sort::Wait => taken.reserved_to_wait -= 1,
            }
        }
        self.scheduler.fill();
    }
}

/// What is going on while a debate is being opened goes into the log.
pub(crate) fn progress_sink() -> ProgressSink {
    ProgressSink {
        fetching: Arc::new(|news| match news {
            Fetching::Plan(attempts) => {
                log::note(&format!("fetching one of: {}", attempts.join("; ")));
            }
            Fetching::Progress { .. } => {}
            Fetching::Done(path) => log::note(&format!("fetched {}", path.display())),
        }),
        say: Box::new(|_| {}),
    }
}
