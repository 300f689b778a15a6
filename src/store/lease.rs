//! Claiming a debate, so that one process at a time runs it.
//!
//! The epoch makes it correct: claiming raises it, and no append under an older one succeeds. The lock file makes it
//! quick: the system drops it with its process, so a killed debate can be resumed at once and a living one not at all. On a
//! server, where no file reaches, owners that give signs of life stand in for it (`ownership`).

use std::sync::Arc;

use roundtable_engine::event::{Millis, Setup, State};
use roundtable_engine::journal::Journal;
use sqlx::{AnyConnection, Row};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::errors::{Failure, Fault, LeaseError, StoreError};
use super::journal::DebateJournal;
use super::location::Held;
use super::ownership::LEASE_DURATION;
use super::queue::Job;
use super::server_debates::{CreateRequest, note_request};
use super::{Store, signed, unsigned};

/// The right to run one debate. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    id: Uuid,
    setup: Setup,
    created_at: Millis,
    journal: Arc<DebateJournal>,
    held: Held,
    /// The job that brought it here. It is over when this is dropped.
    _job: Option<Job>,
}

impl Lease {
    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    /// What the debate was created with, even where the process died before its first entry.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    pub(crate) fn created_at(&self) -> Millis {
        self.created_at
    }

    /// Keep the lease as long as the journal is written to.
    pub(crate) fn journal(&self) -> Arc<dyn Journal> {
        self.journal.clone()
    }

    pub(super) fn for_job(self, job: Job) -> Self {
        Self {
            _job: Some(job),
            ..self
        }
    }

    /// Cancelled when others may have taken the debate over: nothing more may be done for it.
    pub(crate) fn lost(&self) -> CancellationToken {
        self.held.lost()
    }
}

/// The epoch of a lease, what the debate was created with, and when.
pub(super) type Known = (i64, Setup, Millis);

/// How a debate comes to be.
pub(super) struct Made<'a> {
    pub(super) state: State,
    pub(super) owner: &'a str,
    /// The request that a server makes it for.
    pub(super) served: Option<&'a CreateRequest>,
}

/// Who runs a debate. What a server ran, a server takes up again by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Command,
    Server,
}

impl Store {
    /// A new debate, leased. Its first entry is the caller's to append.
    pub(crate) async fn create(
        &self,
        id: Uuid,
        setup: &Setup,
        now: Millis,
    ) -> Result<Lease, StoreError> {
        let Some(held) = self.hold_new(id).await? else {
            return Err(StoreError::Exists { id });
        };
        let made = Made {
            state: State::Running,
            owner: held.owner(),
            served: None,
        };
        match self.insert_debate(id, setup, now, made).await {
            Ok(epoch) => Ok(self.leased(id, held, (epoch, setup.clone(), now))),
            Err(failure) if failure.fault == Fault::Taken => Err(StoreError::Exists { id }),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    /// Takes over a debate that no living process holds.
    pub(crate) async fn lease(&self, id: Uuid) -> Result<Lease, LeaseError> {
        self.lease_as(id, By::Command).await
    }

    /// The same, waiting as long as it takes to know whether whoever holds it on another machine is dead: until there is
    /// another sign of life, or none for too long.
    pub(crate) async fn lease_or_wait(&self, id: Uuid) -> Result<Lease, LeaseError> {
        if !self.is_shared() {
            return self.lease(id).await;
        }
        let deadline = Instant::now() + LEASE_DURATION;
        let first = self.sign_of_life(id).await?;
        loop {
            let leased = self.lease(id).await;
            let is_held = matches!(leased, Err(LeaseError::Held { .. }));
            if !is_held || Instant::now() > deadline || self.sign_of_life(id).await? != first {
                return leased;
            }
        }
    }

    /// Changes as long as a process on a server holds the debate.
    async fn sign_of_life(&self, id: Uuid) -> Result<Option<i64>, StoreError> {
        let row = sqlx::query(
            "SELECT owners.lives_until FROM owners JOIN debates ON debates.owner = owners.id WHERE debates.id = $1",
        )
        .bind(id.to_string())
        .fetch_optional(&self.reader)
        .await;
        row.and_then(|row| row.map(|row| row.try_get("lives_until")).transpose())
            .map_err(|error| self.failed(error.into()))
    }

    pub(super) async fn lease_as(&self, id: Uuid, by: By) -> Result<Lease, LeaseError> {
        let Some(held) = self.try_hold(id).await? else {
            return Err(LeaseError::Held { id });
        };
        self.lease_locked(id, by, held).await
    }

    pub(super) async fn lease_locked(
        &self,
        id: Uuid,
        by: By,
        held: Held,
    ) -> Result<Lease, LeaseError> {
        match self.raise_epoch(id, by, held.owner()).await {
            Ok(Some(known)) => Ok(self.leased(id, held, known)),
            Ok(None) => {
                self.forget_hold(id);
                Err(LeaseError::NotFound { id })
            }
            Err(failure) => Err(self.failed(failure).into()),
        }
    }

    pub(super) fn leased(&self, id: Uuid, held: Held, (epoch, setup, created_at): Known) -> Lease {
        Lease {
            id,
            setup,
            created_at,
            journal: Arc::new(DebateJournal::new(self.clone(), id, epoch)),
            held,
            _job: None,
        }
    }

    pub(super) async fn insert_debate(
        &self,
        id: Uuid,
        setup: &Setup,
        now: Millis,
        made: Made<'_>,
    ) -> Result<i64, Failure> {
        const FIRST_EPOCH: i64 = 1;
        let as_json = serde_json::to_string(setup)
            .map_err(|error| Failure::unreadable(format!("the setup of debate {id}: {error}")))?;
        let mut writing = self.writer.begin().await?;
        let inserted = sqlx::query(
            "INSERT INTO debates (id, protocol, state, epoch, generation, created_at, updated_at, calls, retries, \
             input_tokens, output_tokens, cached_tokens, cost_usd, cost_known, question, setup, served, owner) \
             VALUES ($1, $2, $3, $4, 0, $5, $5, 0, 0, 0, 0, 0, 0, 1, $6, $7, $8, $9)",
        )
        .bind(id.to_string())
        .bind(setup.protocol.as_str())
        .bind(made.state.name())
        .bind(FIRST_EPOCH)
        .bind(signed(now))
        // The one character that not every database takes in a text. The setup has it as it was.
        .bind(setup.question.replace('\0', "\u{fffd}"))
        .bind(as_json)
        .bind(i64::from(made.served.is_some()))
        .bind(made.owner.to_owned())
        .execute(writing.connection())
        .await
        .map_err(Failure::from);
        let noted = match (inserted, made.served) {
            (Ok(_), Some(sent)) => note_request(writing.connection(), id, sent, now).await,
            (Ok(_), None) => Ok(()),
            (Err(failure), _) => Err(failure),
        };
        writing.end(noted).await?;
        Ok(FIRST_EPOCH)
    }

    async fn raise_epoch(&self, id: Uuid, by: By, owner: &str) -> Result<Option<Known>, Failure> {
        let mut writing = self.writer.begin().await?;
        let raised = raise_epoch(writing.connection(), id, by, owner).await;
        writing.end(raised).await
    }
}

/// An epoch whose setup cannot be read is not raised: a version that can read it may be at work.
async fn raise_epoch(
    connection: &mut AnyConnection,
    id: Uuid,
    by: By,
    owner: &str,
) -> Result<Option<Known>, Failure> {
    let raised = sqlx::query(
        "UPDATE debates SET epoch = epoch + 1, served = $2 WHERE id = $1 AND owner = $3 RETURNING epoch, setup, created_at",
    )
    .bind(id.to_string())
    .bind(i64::from(by == By::Server))
    .bind(owner.to_owned())
    .fetch_optional(connection)
    .await?;
    let Some(row) = raised else {
        return Ok(None);
    };
    let setup = serde_json::from_str(row.try_get("setup")?)
        .map_err(|error| Failure::unreadable(format!("the setup of debate {id}: {error}")))?;
    let created_at = unsigned(row.try_get("created_at")?);
    Ok(Some((row.try_get("epoch")?, setup, created_at)))
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
