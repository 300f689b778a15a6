//! Distributes queued debates to workers on any number of machines (B-04).
//!
//! The debate's row decides whether it should run: its state is queued or running, and it has no live owner. The `queue` only
//! assigns debates to workers; its errors are harmless.

use std::collections::HashMap;

use roundtable_engine::event::{Millis, Setup, State};
use roundtable_engine::table::Budget;
use sqlx::Row;
use sqlx::any::AnyRow;
use sqlx::postgres::PgListener;
use uuid::Uuid;

use super::dialect::server_now;
use super::errors::{Failure, Fault, LeaseError, StoreError};
use super::lease::{DebateOrigin, Runner};
use super::left_alone::{LeaveAlone, LeftAlone};
use super::location::{DebateLock, Location};
use super::ownership::{OwnerLease, Ownership};
use super::queue::{Job, NEW_JOBS, Selection};
use super::row::parse_id;
use super::{CreateRequest, Created, DebateRow, Lease, Store, signed};

const JOURNAL_CHANNEL: &str = "roundtable_journal";
const COMMAND_CHANNEL: &str = "roundtable_work";
/// The number of ids in the statement of [`Store::own_debates`].
const MAX_DEBATES: usize = 8;

/// A change in the store, by any process. It has no content: the receiver reads the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notification {
    /// This debate has new entries.
    Entries(Uuid),
    /// There is a new job or command.
    Work,
    /// Notifications may have been missed.
    Gap,
}

/// Receives notifications.
pub(crate) struct Listener {
    listener: PgListener,
}

impl Listener {
    pub(crate) async fn next(&mut self) -> Result<Notification, StoreError> {
        match self.listener.try_recv().await {
            Ok(Some(message)) if message.channel() == JOURNAL_CHANNEL => Ok(message
                .payload()
                .parse()
                .map_or(Notification::Gap, Notification::Entries)),
            Ok(Some(_)) => Ok(Notification::Work),
            Ok(None) => Ok(Notification::Gap),
            Err(error) => Err(StoreError::Server {
                database: "the server".into(),
                detail: error.to_string(),
            }),
        }
    }
}

impl Store {
    /// `None` for a data folder, which has no notifications.
    pub(crate) async fn listen(&self) -> Result<Option<Listener>, StoreError> {
        let Location::Server(server) = &*self.location else {
            return Ok(None);
        };
        let connecting = async {
            let mut listener = PgListener::connect(server.url.expose()).await?;
            let channels = [JOURNAL_CHANNEL, COMMAND_CHANNEL, NEW_JOBS];
            listener.listen_all(channels).await?;
            Ok(Some(Listener { listener }))
        };
        self.run(connecting).await
    }

    /// Notifies all workers of a new command. They also poll.
    pub(super) async fn notify_commands(&self) -> Result<(), StoreError> {
        if !self.is_shared() {
            return Ok(());
        }
        let query = sqlx::query("SELECT CAST(pg_notify($1, '') AS text) AS told");
        let notified = query.bind(COMMAND_CHANNEL).fetch_one(&self.reader).await;
        notified.map(drop).map_err(|error| self.failed(error))
    }

    /// Creates a debate for any worker to run.
    pub(crate) async fn create_queued(
        &self,
        id: Uuid,
        setup: &Setup,
        now: Millis,
        request: &CreateRequest,
    ) -> Result<Created, StoreError> {
        let origin = DebateOrigin {
            state: State::Queued,
            owner: "",
            request: Some(request),
            // The worker that has a free slot has to find it.
            is_served: true,
        };
        match self.insert_debate(id, setup, now, origin).await {
            Ok(_) => {
                // If this fails, the next poll enqueues it.
                let _ = self.enqueue_job(id).await;
                Ok(Created::New(id))
            }
            Err(failure) if failure.fault == Fault::Duplicate => self
                .find_created(request)
                .await?
                .ok_or(StoreError::Exists { id }),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    /// The number of queued debates.
    pub(crate) async fn queue_length(&self) -> Result<u64, StoreError> {
        self.read_number(sqlx::query(
            "SELECT COUNT(*) AS waiting FROM debates WHERE served = 1 AND state = 'queued' AND owner = ''",
        ))
        .await
    }

    /// The number of queued debates before this one.
    pub(crate) async fn queue_position(&self, debate: &DebateRow) -> Result<u64, StoreError> {
        let query = sqlx::query(
            "SELECT COUNT(*) AS waiting FROM debates WHERE served = 1 AND state = 'queued' AND owner = '' \
             AND (created_at < $1 OR (created_at = $1 AND id < $2))",
        )
        .bind(signed(debate.created_at))
        .bind(debate.id.to_string());
        self.read_number(query).await
    }

    /// Creates the job queue's tables if they are missing.
    pub(crate) async fn set_up_queue(&self) -> Result<(), StoreError> {
        match &*self.location {
            Location::Folder(_) => Ok(()),
            Location::Server(server) => self.run(server.queue.set_up()).await,
        }
    }

    /// Enqueues a job for every debate that should run and has no live owner.
    pub(crate) async fn enqueue_missing_jobs(&self) -> Result<(), StoreError> {
        self.enqueue_jobs(Selection::All).await
    }

    /// Like [`Store::enqueue_missing_jobs`], for one debate.
    pub(crate) async fn enqueue_job(&self, id: Uuid) -> Result<(), StoreError> {
        self.enqueue_jobs(Selection::Debate(id)).await
    }

    async fn enqueue_jobs(&self, selection: Selection) -> Result<(), StoreError> {
        match &*self.location {
            Location::Folder(_) => Ok(()),
            Location::Server(server) => self.run(server.queue.enqueue_missing(selection)).await,
        }
    }

    /// Leases up to `max` queued debates, oldest first. Concurrent callers get different debates. Empty if there is no job.
    pub(crate) async fn lease_jobs(&self, max: usize) -> Result<Vec<Lease>, LeaseError> {
        let Location::Server(server) = &*self.location else {
            return Ok(Vec::new());
        };
        loop {
            let mut jobs = self.run(server.queue.take(max.min(MAX_DEBATES))).await?;
            if jobs.is_empty() {
                let held = server.queue.held_elsewhere(max.min(MAX_DEBATES));
                jobs = self.run(held).await?;
            }
            if jobs.is_empty() {
                return Ok(Vec::new());
            }
            let left_alone = &server.queue.left_alone;
            let owned = self.own_debates(&server.ownership, jobs, left_alone);
            let locked = self.run(owned).await?;
            let leases = self.lease_all(locked).await?;
            if !leases.is_empty() {
                return Ok(leases);
            }
        }
    }

    async fn lease_all(
        &self,
        locked: Vec<(Job, Uuid, DebateLock)>,
    ) -> Result<Vec<Lease>, LeaseError> {
        let mut leases = Vec::with_capacity(locked.len());
        let mut failed = None;
        for (job, id, lock) in locked {
            // Dropping the lock releases a debate that cannot be leased.
            match self.lease_locked(id, Runner::Server, lock).await {
                Ok(lease) => leases.push(lease.for_job(job)),
                Err(error @ LeaseError::Store(_)) => failed = Some(error),
                // Deleted, or taken by another process.
                Err(LeaseError::NotFound { .. } | LeaseError::Held { .. }) => {}
            }
        }
        // One that cannot be read must not keep the others from being run.
        match failed.filter(|_| leases.is_empty()) {
            Some(error) => Err(error),
            None => Ok(leases),
        }
    }

    /// Leaves a debate to other processes from now on.
    pub(crate) fn leave_alone(&self, id: Uuid, which: LeaveAlone) {
        if let Location::Server(server) = &*self.location {
            server.queue.left_alone.add(id, which);
        }
    }

    /// Takes ownership of those jobs' debates that should run, have no live owner and are not left alone. The other jobs are
    /// finished, now or later: a debate whose owner dies gets a new job.
    async fn own_debates(
        &self,
        ownership: &Ownership,
        jobs: Vec<Job>,
        left_alone: &LeftAlone,
    ) -> Result<Vec<(Job, Uuid, DebateLock)>, Failure> {
        let owner = ownership.owner().await?;
        let is_left = |job: &Job| job.debate().and_then(|id| left_alone.get(id));
        let (held, mut jobs): (Vec<Job>, Vec<Job>) = jobs
            .into_iter()
            .partition(|job| is_left(job) == Some(LeaveAlone::Always));
        for job in held {
            left_alone.hold(job);
        }
        let unless_queued = jobs.iter().filter(|job| is_left(job).is_some());
        let unless_queued: Vec<String> = unless_queued
            .filter_map(|job| Some(job.debate()?.to_string()))
            .collect();
        let debates = jobs.iter().filter_map(Job::debate);
        let mut attempts: HashMap<Uuid, OwnerLease> = debates
            .map(|id| (id, OwnerLease::attempt(id, owner.clone())))
            .collect();
        let mut query = sqlx::query(concat!(
            "WITH free AS MATERIALIZED (SELECT id FROM debates WHERE id IN ($2, $3, $4, $5, $6, $7, $8, $9) \
             AND served = 1 AND state IN ('queued', 'running') \
             AND (state = 'queued' OR NOT id = ANY (string_to_array($10, ','))) \
             AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
            server_now!(),
            ") FOR UPDATE SKIP LOCKED) \
             UPDATE debates SET owner = $1, epoch = epoch + 1 FROM free WHERE debates.id = free.id RETURNING debates.id, debates.epoch"
        ))
        .bind(owner.id().to_owned());
        for index in 0..MAX_DEBATES {
            let debate = jobs.get(index).and_then(Job::debate);
            query = query.bind(debate.map_or_else(String::new, |id| id.to_string()));
        }
        let query = query.bind(unless_queued.join(","));
        let rows = self.writer.fetch_all(query).await?;
        let mut locked = Vec::with_capacity(rows.len());
        for row in &rows {
            let id = parse_id(row.try_get("id")?)?;
            let index = jobs.iter().position(|job| job.debate() == Some(id));
            if let (Some(index), Some(lease)) = (index, attempts.remove(&id)) {
                lease.confirm(row.try_get("epoch")?);
                left_alone.remove(id);
                locked.push((jobs.swap_remove(index), id, DebateLock::Owner(lease)));
            }
        }
        for job in jobs {
            left_alone.hold(job);
        }
        Ok(locked)
    }

    /// The budget that replaces the one a debate was created with, if any.
    pub(crate) async fn budget(&self, id: Uuid) -> Result<Option<Budget>, StoreError> {
        let query = sqlx::query("SELECT budget FROM debates WHERE id = $1 AND budget <> ''")
            .bind(id.to_string());
        let read = |row: &AnyRow| {
            serde_json::from_str(row.try_get("budget")?)
                .map_err(|error| Failure::unreadable(format!("the budget of debate {id}: {error}")))
        };
        self.read_optional(query, read).await
    }
}

#[cfg(test)]
#[path = "worker_queue_tests.rs"]
mod tests;
