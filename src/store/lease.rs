//! Leases: only one process at a time runs a debate.
//!
//! The epoch is the fencing token and makes it correct: every lease raises it, and no append under an older epoch succeeds.
//! The lock file makes it fast: the operating system releases it with its process, so a killed debate can be resumed at once.
//! On a server, owners with heartbeats replace lock files (`ownership`).

use std::sync::Arc;

use roundtable_engine::event::{Millis, Setup, State};
use roundtable_engine::journal::Journal;
use sqlx::{AnyConnection, Row};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::chain::Origin;
use super::errors::{Failure, Fault, LeaseError, StoreError};
use super::journal::DebateJournal;
use super::location::DebateLock;
use super::ownership::LEASE_DURATION;
use super::query::read_setup;
use super::queue::Job;
use super::server_debates::{CreateRequest, insert_request};
use super::{Store, signed, unsigned};

/// The right to run one debate. Dropping it releases the debate.
#[derive(Debug)]
pub(crate) struct Lease {
    id: Uuid,
    setup: Setup,
    created_at: Millis,
    journal: Arc<DebateJournal>,
    lock: DebateLock,
    /// The queue job for this debate. Dropping it finishes the job.
    _job: Option<Job>,
}

impl Lease {
    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    /// The setup that the debate was created with; known even if the process died before the first entry.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    pub(crate) fn created_at(&self) -> Millis {
        self.created_at
    }

    /// Keep the lease while writing to the journal.
    pub(crate) fn journal(&self) -> Arc<dyn Journal> {
        self.journal.clone()
    }

    pub(super) fn for_job(self, job: Job) -> Self {
        Self {
            _job: Some(job),
            ..self
        }
    }

    /// Cancelled when the lease is lost: another process may run the debate, so this one must stop.
    pub(crate) fn lost(&self) -> CancellationToken {
        self.lock.lost()
    }
}

/// The columns of a debate's row that a lease needs.
pub(super) struct LeasedRow {
    pub(super) epoch: i64,
    pub(super) setup: Setup,
    pub(super) created_at: Millis,
    /// The checksum of its last entry.
    pub(super) chain: String,
}

/// The state, owner and request that a new debate is inserted with.
pub(super) struct DebateOrigin<'a> {
    pub(super) state: State,
    pub(super) owner: &'a str,
    /// Set if a server runs the debate.
    pub(super) request: Option<&'a CreateRequest>,
    /// Whether servers resume the debate by themselves.
    pub(super) is_served: bool,
}

/// The kind of process that runs a debate. A server resumes the debates of a server by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Cli,
    Server,
}

impl Store {
    /// Creates and leases a debate. The caller appends the first entry.
    pub(crate) async fn create(
        &self,
        id: Uuid,
        setup: &Setup,
        now: Millis,
    ) -> Result<Lease, StoreError> {
        let Some(lock) = self.lock_new_debate(id).await? else {
            return Err(StoreError::Exists { id });
        };
        let origin = DebateOrigin {
            state: State::Running,
            owner: lock.owner(),
            request: None,
            is_served: false,
        };
        match self.insert_debate(id, setup, now, origin).await {
            Ok(row) => Ok(self.leased(id, lock, row)),
            Err(failure) if failure.fault == Fault::Duplicate => Err(StoreError::Exists { id }),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    /// Leases a debate that no live process holds.
    pub(crate) async fn lease(&self, id: Uuid) -> Result<Lease, LeaseError> {
        self.lease_as(id, Runner::Cli).await
    }

    /// Like [`Store::lease`]. If a process on another machine holds the debate, waits until it sends another heartbeat or its
    /// lease expires.
    pub(crate) async fn lease_or_wait(&self, id: Uuid) -> Result<Lease, LeaseError> {
        if !self.is_shared() {
            return self.lease(id).await;
        }
        let deadline = Instant::now() + LEASE_DURATION;
        let first = self.owner_expiry(id).await?;
        loop {
            let leased = self.lease(id).await;
            let is_held = matches!(leased, Err(LeaseError::Held { .. }));
            if !is_held || Instant::now() > deadline || self.owner_expiry(id).await? != first {
                return leased;
            }
        }
    }

    /// When the owner's lease expires. Every heartbeat changes it.
    async fn owner_expiry(&self, id: Uuid) -> Result<Option<i64>, StoreError> {
        let query = sqlx::query(
            "SELECT owners.lives_until FROM owners JOIN debates ON debates.owner = owners.id WHERE debates.id = $1",
        )
        .bind(id.to_string());
        self.read_optional(query, |row| Ok(row.try_get("lives_until")?))
            .await
    }

    pub(super) async fn lease_as(&self, id: Uuid, runner: Runner) -> Result<Lease, LeaseError> {
        let Some(lock) = self.try_lock_debate(id).await? else {
            return Err(LeaseError::Held { id });
        };
        self.lease_locked(id, runner, lock).await
    }

    pub(super) async fn lease_locked(
        &self,
        id: Uuid,
        runner: Runner,
        lock: DebateLock,
    ) -> Result<Lease, LeaseError> {
        let raised = async {
            let mut transaction = self.writer.begin().await?;
            let raised = raise_epoch(transaction.connection(), id, runner, lock.owner()).await;
            transaction.finish(raised).await
        };
        let Some(row) = self.run(raised).await? else {
            self.remove_debate_lock(id);
            return Err(LeaseError::NotFound { id });
        };
        Ok(self.leased(id, lock, row))
    }

    pub(super) fn leased(&self, id: Uuid, lock: DebateLock, row: LeasedRow) -> Lease {
        lock.confirm(row.epoch);
        Lease {
            id,
            setup: row.setup,
            created_at: row.created_at,
            journal: Arc::new(DebateJournal::new(self.clone(), id, row.epoch, row.chain)),
            lock,
            _job: None,
        }
    }

    pub(super) async fn insert_debate(
        &self,
        id: Uuid,
        setup: &Setup,
        now: Millis,
        origin: DebateOrigin<'_>,
    ) -> Result<LeasedRow, Failure> {
        const FIRST_EPOCH: i64 = 1;
        let as_json = serde_json::to_string(setup)
            .map_err(|error| Failure::unreadable(format!("the setup of debate {id}: {error}")))?;
        let token = origin.request.and_then(|request| request.token);
        // PostgreSQL does not accept NUL in text. The setup keeps it, as escaped JSON.
        let question = setup.question.replace('\0', "\u{fffd}");
        let origin_of_chain = Origin {
            id: &id.to_string(),
            protocol: setup.protocol.as_bytes(),
            created_at: signed(now),
            question: question.as_bytes(),
            setup: as_json.as_bytes(),
        };
        let chain = origin_of_chain.checksum();
        let insert = sqlx::query(
            "INSERT INTO debates (id, protocol, state, epoch, generation, created_at, updated_at, calls, retries, \
             input_tokens, output_tokens, cached_tokens, cost_usd, cost_known, question, setup, served, owner, chain, token_id, parent_id) \
             VALUES ($1, $2, $3, $4, 0, $5, $5, 0, 0, 0, 0, 0, 0, 1, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(id.to_string())
        .bind(setup.protocol.as_str())
        .bind(origin.state.name())
        .bind(FIRST_EPOCH)
        .bind(signed(now))
        .bind(question)
        .bind(as_json)
        .bind(i64::from(origin.is_served))
        .bind(origin.owner.to_owned())
        .bind(chain.clone())
        .bind(token.map_or_else(String::new, |id| id.to_string()))
        .bind(setup.parent.as_ref().map_or("", |parent| parent.id.as_str()).to_owned());
        let mut transaction = self.writer.begin().await?;
        let inserted = async {
            insert.execute(transaction.connection()).await?;
            match origin.request {
                Some(request) => insert_request(transaction.connection(), id, request, now).await,
                None => Ok(()),
            }
        };
        let inserted = inserted.await;
        transaction.finish(inserted).await?;
        Ok(LeasedRow {
            epoch: FIRST_EPOCH,
            setup: setup.clone(),
            created_at: now,
            chain,
        })
    }
}

/// If the setup cannot be parsed, the epoch is not raised: a newer version may be running the debate.
async fn raise_epoch(
    connection: &mut AnyConnection,
    id: Uuid,
    runner: Runner,
    owner: &str,
) -> Result<Option<LeasedRow>, Failure> {
    let raised = sqlx::query(
        "UPDATE debates SET epoch = epoch + 1, served = $2 WHERE id = $1 AND owner = $3 RETURNING epoch, setup, created_at, chain",
    )
    .bind(id.to_string())
    .bind(i64::from(runner == Runner::Server))
    .bind(owner.to_owned())
    .fetch_optional(connection)
    .await?;
    let Some(row) = raised else {
        return Ok(None);
    };
    Ok(Some(LeasedRow {
        epoch: row.try_get("epoch")?,
        setup: read_setup(id, &row)?,
        created_at: unsigned(row.try_get("created_at")?),
        chain: row.try_get("chain")?,
    }))
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
