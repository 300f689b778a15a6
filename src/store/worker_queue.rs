//! Debates that wait for somebody to run them, where any number of processes on any machines do (B-04).
//!
//! Whether a debate is to be run is in its own row: while its state says so and its owner is dead or nobody. Who runs it is found
//! by the `queue`, which may be wrong about it without harm.

use roundtable_engine::event::{Millis, Setup, State};
use roundtable_engine::table::Budget;
use sqlx::Row;
use sqlx::postgres::PgListener;
use uuid::Uuid;

use super::dialect::server_now;
use super::errors::{Failure, Fault, LeaseError, StoreError};
use super::lease::{By, Made};
use super::location::{Held, Home};
use super::ownership::{OwnerLease, Ownership};
use super::queue::{Job, NEW_JOBS, Which};
use super::row::parse_id;
use super::{Created, DebateRow, Lease, CreateRequest, Store, signed, unsigned};

const JOURNAL: &str = "roundtable_journal";
const ORDERS: &str = "roundtable_work";
/// How many debates are taken with one statement, which has as many places for their ids.
const AT_ONCE: usize = 8;

/// Something has happened in the store, here or on another machine. It carries no content: whoever cares looks for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notification {
    /// This debate has new entries.
    Entries(Uuid),
    /// There is a debate to be run, or something is wanted of one.
    Work,
    /// Some may have been missed.
    Gap,
}

/// Notification as they come.
pub(crate) struct Listener {
    listener: PgListener,
}

impl Listener {
    pub(crate) async fn next(&mut self) -> Result<Notification, StoreError> {
        match self.listener.try_recv().await {
            Ok(Some(told)) if told.channel() == JOURNAL => {
                Ok(told.payload().parse().map_or(Notification::Gap, Notification::Entries))
            }
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
    /// `None` where nobody else could have news: everything happens in this process, or is looked for.
    pub(crate) async fn listen(&self) -> Result<Option<Listener>, StoreError> {
        let Home::Server(server) = &*self.home else {
            return Ok(None);
        };
        let listening = async {
            let mut listener = PgListener::connect(server.url.expose()).await?;
            listener.listen_all([JOURNAL, ORDERS, NEW_JOBS]).await?;
            Ok::<_, sqlx::Error>(listener)
        };
        let listener = listening.await.map_err(|error| self.failed(error.into()))?;
        Ok(Some(Listener { listener }))
    }

    /// Tells all who run debates that something is wanted of one. They look now and then in any case.
    pub(super) async fn notify_commands(&self) -> Result<(), StoreError> {
        if !self.is_shared() {
            return Ok(());
        }
        let called = sqlx::query("SELECT CAST(pg_notify($1, '') AS text) AS told")
            .bind(ORDERS)
            .fetch_one(&self.reader)
            .await;
        called.map(drop).map_err(|error| self.failed(error.into()))
    }

    /// A new debate that whoever comes first is to run.
    pub(crate) async fn create_queued(
        &self,
        id: Uuid,
        setup: &Setup,
        now: Millis,
        sent: &CreateRequest,
    ) -> Result<Created, StoreError> {
        let made = Made {
            state: State::Queued,
            owner: "",
            served: Some(sent),
        };
        match self.insert_debate(id, setup, now, made).await {
            Ok(_) => {
                // It is in the store: whoever looks next hands it out if this failed.
                let _ = self.enqueue_job(id).await;
                Ok(Created::New(id))
            }
            Err(failure) if failure.fault == Fault::Taken => {
                self.find_created(sent).await?.ok_or(StoreError::Exists { id })
            }
            Err(failure) => Err(self.failed(failure)),
        }
    }

    /// How many debates wait for somebody.
    pub(crate) async fn queue_length(&self) -> Result<u64, StoreError> {
        let counted = sqlx::query(
            "SELECT COUNT(*) AS waiting FROM debates WHERE served = 1 AND state = 'queued' AND owner = ''",
        )
        .fetch_one(&self.reader)
        .await;
        counted
            .and_then(|row| row.try_get::<i64, _>("waiting"))
            .map(unsigned)
            .map_err(|error| self.failed(error.into()))
    }

    /// How many wait for somebody longer than this one.
    pub(crate) async fn queue_position(&self, debate: &DebateRow) -> Result<u64, StoreError> {
        let counted = sqlx::query(
            "SELECT COUNT(*) AS waiting FROM debates WHERE served = 1 AND state = 'queued' AND owner = '' \
             AND (created_at < $1 OR (created_at = $1 AND id < $2))",
        )
        .bind(signed(debate.created_at))
        .bind(debate.id.to_string())
        .fetch_one(&self.reader)
        .await;
        counted
            .and_then(|row| row.try_get::<i64, _>("waiting"))
            .map(unsigned)
            .map_err(|error| self.failed(error.into()))
    }

    /// Makes what workers need in the database, where it is missing.
    pub(crate) async fn set_up_queue(&self) -> Result<(), StoreError> {
        match &*self.home {
            Home::Folder(_) => Ok(()),
            Home::Server(server) => server.queue.set_up().await.map_err(|it| self.failed(it)),
        }
    }

    /// Sees to it that every debate that is to be run and that nobody living runs is handed to somebody.
    pub(crate) async fn enqueue_missing_jobs(&self) -> Result<(), StoreError> {
        self.enqueue_jobs(Which::All).await
    }

    /// The same for one debate, at once.
    pub(crate) async fn enqueue_job(&self, id: Uuid) -> Result<(), StoreError> {
        self.enqueue_jobs(Which::This(id)).await
    }

    async fn enqueue_jobs(&self, which: Which) -> Result<(), StoreError> {
        match &*self.home {
            Home::Folder(_) => Ok(()),
            Home::Server(server) => {
                let handed = server.queue.enqueue_job(which).await;
                handed.map_err(|it| self.failed(it))
            }
        }
    }

    /// Claims up to `most` debates that were handed out, those that have waited longest first. Two who ask at the same time get
    /// different ones. None where there is nothing to do.
    pub(crate) async fn lease_jobs(&self, most: usize) -> Result<Vec<Lease>, LeaseError> {
        let Home::Server(server) = &*self.home else {
            return Ok(Vec::new());
        };
        loop {
            let jobs = server.queue.take(most.min(AT_ONCE)).await;
            let jobs = jobs.map_err(|failure| self.failed(failure))?;
            if jobs.is_empty() {
                return Ok(Vec::new());
            }
            let held = self.take_debates(&server.ownership, jobs).await;
            let held = held.map_err(|failure| self.failed(failure))?;
            let leases = self.lease_all(held).await?;
            if !leases.is_empty() {
                return Ok(leases);
            }
        }
    }

    async fn lease_all(&self, held: Vec<(Job, Uuid, Held)>) -> Result<Vec<Lease>, LeaseError> {
        let mut leases = Vec::with_capacity(held.len());
        for (job, id, held) in held {
            match self.lease_locked(id, By::Server, held).await {
                Ok(lease) => leases.push(lease.for_job(job)),
                Err(error @ LeaseError::Store(_)) if leases.is_empty() => return Err(error),
                // Deleted, somebody else's by now, or nothing to make a fuss about: it is free again.
                Err(
                    LeaseError::NotFound { .. } | LeaseError::Held { .. } | LeaseError::Store(_),
                ) => {}
            }
        }
        Ok(leases)
    }

    /// Holds the debates of these jobs, as far as they are to be run and nobody living holds them. The other jobs are over: a
    /// debate whose holder dies gets a new one.
    async fn take_debates(
        &self,
        ownership: &Ownership,
        mut jobs: Vec<Job>,
    ) -> Result<Vec<(Job, Uuid, Held)>, Failure> {
        let owner = ownership.owner().await?;
        let mut taking = sqlx::query(concat!(
            "WITH free AS MATERIALIZED (SELECT id FROM debates WHERE id IN ($2, $3, $4, $5, $6, $7, $8, $9) \
             AND served = 1 AND state IN ('queued', 'running') \
             AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
            server_now!(),
            ") FOR UPDATE SKIP LOCKED) \
             UPDATE debates SET owner = $1, epoch = epoch + 1 FROM free WHERE debates.id = free.id RETURNING debates.id"
        ))
        .bind(owner.id().to_owned());
        for at in 0..AT_ONCE {
            let debate = jobs.get(at).and_then(Job::debate);
            taking = taking.bind(debate.map_or_else(String::new, |id| id.to_string()));
        }
        let place = self.writer.turn().await;
        let rows = self.writer.at_once(place, taking).await?;
        let mut held = Vec::with_capacity(rows.len());
        for row in &rows {
            let id = parse_id(row.try_get("id")?)?;
            let lease = Held::Lease(OwnerLease::new(id, owner.clone()));
            if let Some(at) = jobs.iter().position(|job| job.debate() == Some(id)) {
                held.push((jobs.swap_remove(at), id, lease));
            }
        }
        Ok(held)
    }

    /// What a debate is to go on with, where that is another budget than it was opened with.
    pub(crate) async fn budget(&self, id: Uuid) -> Result<Option<Budget>, StoreError> {
        let row = sqlx::query("SELECT budget FROM debates WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.reader)
            .await;
        let read = |row: sqlx::any::AnyRow| -> Result<Option<Budget>, Failure> {
            match row.try_get("budget")? {
                "" => Ok(None),
                text => serde_json::from_str(text).map(Some).map_err(|error| {
                    Failure::unreadable(format!("the budget of debate {id}: {error}"))
                }),
            }
        };
        row.map_err(Failure::from)
            .and_then(|row| Ok(row.map(read).transpose()?.flatten()))
            .map_err(|failure| self.failed(failure))
    }
}

#[cfg(test)]
#[path = "worker_queue_tests.rs"]
mod tests;
