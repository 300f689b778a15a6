//! Cluster coordination: servers and workers on any machines that share one database (B-04).
//!
//! Each process takes queued debates while it has free slots, and debates whose process died. Readers learn of entries
//! that other processes write, and commands reach the process that runs the debate.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use roundtable_engine::event::State;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Job, JobSource, Scheduler, SlotKind, log};
use crate::store::{DebateRow, Lease, Notification, StoreError};

/// How often to look for work that no notification announced, such as the debates of a process that died.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long to take no work after a debate has stopped without an end: the cause may stop the next one too.
const BACKOFF: Duration = Duration::from_secs(2);

/// The place where the debates of a server run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Here,
    /// In workers: this server only takes requests and shows results.
    Elsewhere,
}

impl Scheduler {
    /// Starts the background tasks of a shared store; does nothing if the store is private to this process.
    pub(crate) fn join_cluster(self: &Arc<Self>) {
        if self.store.is_shared() {
            self.tasks.spawn(Arc::clone(self).listen());
            self.tasks.spawn(Arc::clone(self).poll_for_work());
        }
    }

    /// Forwards notifications of other processes, and reconnects after errors.
    async fn listen(self: Arc<Self>) {
        let listening = async {
            loop {
                if let Err(error) = self.forward_notifications().await {
                    log::note(&format!("lost database notifications: {error}"));
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            () = self.closing.cancelled() => {}
            () = listening => {}
        }
    }

    async fn forward_notifications(&self) -> Result<(), StoreError> {
        let Some(mut notifications) = self.store.listen().await? else {
            return std::future::pending().await;
        };
        // Notifications may have been missed while there was no connection.
        self.notify_everything();
        loop {
            match notifications.next().await? {
                Notification::Entries(id) => self.notifiers.notify(id),
                Notification::Work => self.work_available.notify_one(),
                Notification::Gap => self.notify_everything(),
            }
        }
    }

    fn notify_everything(&self) {
        self.notifiers.notify_all();
        self.work_available.notify_one();
    }

    /// Takes debates and commands as they come.
    async fn poll_for_work(self: Arc<Self>) {
        let mut changes = self.changes();
        let mut next_poll = Instant::now();
        loop {
            changes.mark_unchanged();
            if Instant::now() >= next_poll {
                next_poll = Instant::now() + POLL_INTERVAL;
                if let Err(error) = self.store.enqueue_missing_jobs().await {
                    log::note(&format!("cannot queue abandoned debates: {error}"));
                }
            }
            if let Err(error) = self.take_pending().await {
                log::note(&format!("cannot poll for work: {error}"));
            }
            tokio::select! {
                () = self.closing.cancelled() => return,
                () = self.work_available.notified() => {}
                _ = changes.changed() => {}
                () = tokio::time::sleep_until(next_poll) => {}
            }
        }
    }

    async fn take_pending(self: &Arc<Self>) -> Result<(), StoreError> {
        for command in self.store.take_commands().await? {
            let scheduler = Arc::clone(self);
            self.tasks
                .spawn(async move { scheduler.run_command(command).await });
        }
        while !self.is_backing_off() {
            let free = self.free_slots();
            if free == 0 {
                break;
            }
            let leases = match self.store.lease_jobs(free).await {
                Ok(leases) => leases,
                Err(error) => {
                    self.back_off();
                    log::note(&format!("cannot take a debate: {error}"));
                    break;
                }
            };
            if leases.is_empty() {
                break;
            }
            for lease in leases {
                log::note(&format!("taking debate {}", lease.id()));
                self.run_leased(lease);
            }
        }
        Ok(())
    }

    /// Runs a debate that was taken for a free slot.
    fn run_leased(self: &Arc<Self>, lease: Lease) {
        let id = lease.id();
        self.lock().reserved_to_run += 1;
        let slot = self.slot(Some(SlotKind::Run));
        let source = JobSource::Taken(Box::new(lease));
        self.submit(slot, Job { id, source });
    }

    fn free_slots(&self) -> usize {
        if self.work == Work::Elsewhere || self.draining.is_cancelled() {
            return 0;
        }
        let state = self.lock();
        let used = state.running + state.reserved_to_run;
        self.limits.running.saturating_sub(used)
    }

    pub(super) fn back_off(&self) {
        let until = self.backoff_until.lock();
        *until.unwrap_or_else(PoisonError::into_inner) = Instant::now() + BACKOFF;
    }

    fn is_backing_off(&self) -> bool {
        let until = self.backoff_until.lock();
        Instant::now() < *until.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a debate that does not run here has ended or waits for a person.
    pub(super) async fn wait_for_remote(self: &Arc<Self>, id: Uuid) {
        let (tail, mut changed) = self.follow(id, 0);
        loop {
            changed.mark_unchanged();
            let is_active = match self.store.get(id).await {
                Ok(Some(row)) => matches!(row.state, State::Queued | State::Running),
                Ok(None) | Err(_) => false,
            };
            if !is_active || tail.is_closed() || changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// The number of debates ahead of this one, in the local or the shared queue.
    pub(crate) async fn place_in_queue(&self, row: &DebateRow) -> Result<Option<u64>, StoreError> {
        if let Some(position) = self.queue_position(row.id) {
            return Ok(Some(position as u64));
        }
        if row.state == State::Queued && self.store.is_shared() {
            return self.store.queue_position(row).await.map(Some);
        }
        Ok(None)
    }

    /// The length of the local or the shared queue; 0 if the database does not answer.
    pub(crate) async fn queue_length(&self) -> u64 {
        let (_, local) = self.load();
        if !self.store.is_shared() {
            return local as u64;
        }
        self.store.queue_length().await.unwrap_or(0)
    }

    /// Takes no more work, and waits until all running debates have stopped or the deadline has passed.
    pub(crate) async fn drain(&self, deadline: Duration) {
        self.draining.cancel();
        let mut changes = self.changes();
        let drained = async {
            loop {
                changes.mark_unchanged();
                if self.load().0 == 0 || changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(deadline, drained).await;
    }
}
