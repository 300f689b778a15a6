//! Debates that a server runs, and idempotent creation requests.

use roundtable_engine::event::{Entry, Millis, Setup, State};
use roundtable_engine::table::Budget;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::errors::{Failure, Fault, LeaseError, StoreError};
use super::lease::{DebateOrigin, Runner};
use super::row::parse_id;
use super::{Lease, Store, signed};

/// A request to create a debate. Requests with the same idempotency key create one debate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CreateRequest {
    pub key: Option<String>,
    /// A hash of the request's content.
    pub fingerprint: String,
}

/// The result of creating a debate for a request. `New` carries the id, or the lease if the caller is to run the debate.
#[derive(Debug)]
pub(crate) enum Created<T = Uuid> {
    New(T),
    /// The same request was sent before and created this debate.
    Existing(Uuid),
    /// The idempotency key was used for another request.
    KeyConflict,
}

impl Store {
    /// Creates and leases a debate that a server runs.
    pub(crate) async fn create_for_server(
        &self,
        id: Uuid,
        setup: &Setup,
        now: Millis,
        state: State,
        request: &CreateRequest,
    ) -> Result<Created<Box<Lease>>, StoreError> {
        let Some(lock) = self.lock_new_debate(id).await? else {
            return Err(StoreError::Exists { id });
        };
        let origin = DebateOrigin {
            state,
            owner: lock.owner(),
            request: Some(request),
        };
        match self.insert_debate(id, setup, now, origin).await {
            Ok(row) => Ok(Created::New(Box::new(self.leased(id, lock, row)))),
            Err(failure) if failure.fault == Fault::Duplicate => {
                drop(lock);
                self.remove_debate_lock(id);
                let existing = self.find_created(request).await?;
                existing.ok_or(StoreError::Exists { id })
            }
            Err(failure) => Err(self.failed(failure)),
        }
    }

    /// What this request created before, if anything. Never [`Created::New`].
    pub(crate) async fn find_created<T>(
        &self,
        request: &CreateRequest,
    ) -> Result<Option<Created<T>>, StoreError> {
        let Some(key) = &request.key else {
            return Ok(None);
        };
        let row = sqlx::query("SELECT fingerprint, debate_id FROM requests WHERE key = $1")
            .bind(key.as_str())
            .fetch_optional(&self.reader)
            .await;
        let read = |row: sqlx::any::AnyRow| -> Result<Created<T>, Failure> {
            if row.try_get::<&str, _>("fingerprint")? == request.fingerprint {
                Ok(Created::Existing(parse_id(row.try_get("debate_id")?)?))
            } else {
                Ok(Created::KeyConflict)
            }
        };
        row.map_err(Failure::from)
            .and_then(|row| row.map(read).transpose())
            .map_err(|failure| self.failed(failure))
    }

    /// Leases a debate that no live process holds, for a server.
    pub(crate) async fn lease_for_server(&self, id: Uuid) -> Result<Lease, LeaseError> {
        self.lease_as(id, Runner::Server).await
    }

    /// Queues an ended debate to be resumed. `budget` replaces the one it was created with; `None` restores it.
    pub(crate) async fn requeue(
        &self,
        id: Uuid,
        budget: Option<&Budget>,
    ) -> Result<(), StoreError> {
        let queued = async {
            let budget = match budget {
                Some(budget) => serde_json::to_string(budget)
                    .map_err(|error| Failure::unreadable(error.to_string()))?,
                None => String::new(),
            };
            let mut transaction = self.writer.begin().await?;
            let done = sqlx::query(
                "UPDATE debates SET state = $2, ended_at = NULL, served = 1, \
                 budget = $3 WHERE id = $1",
            )
            .bind(id.to_string())
            .bind(State::Queued.name())
            .bind(budget)
            .execute(transaction.connection())
            .await
            .map_err(Failure::from);
            transaction.finish(done).await.map(drop)
        };
        queued.await.map_err(|failure| self.failed(failure))
    }

    /// Debates that a server was running or had queued when it stopped, oldest first.
    pub(crate) async fn interrupted_server_debates(&self) -> Result<Vec<Uuid>, StoreError> {
        self.select_ids(
            "SELECT id FROM debates WHERE served = 1 AND state IN ('queued', 'running') ORDER BY created_at, id",
        )
        .await
    }

    /// The journal of a debate after the entry `seq`.
    pub(crate) async fn entries_after(&self, id: Uuid, seq: u64) -> Result<Vec<Entry>, StoreError> {
        self.select_entries(id, seq)
            .await
            .map_err(|failure| self.failed(failure))
    }

    /// Checks that the database responds.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let answer = sqlx::query("SELECT 1 AS one").fetch_one(&self.reader).await;
        match answer {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed(error.into())),
        }
    }
}

pub(super) async fn insert_request(
    connection: &mut AnyConnection,
    id: Uuid,
    request: &CreateRequest,
    now: Millis,
) -> Result<(), Failure> {
    let Some(key) = &request.key else {
        return Ok(());
    };
    sqlx::query(
        "INSERT INTO requests (key, fingerprint, debate_id, created_at) VALUES ($1, $2, $3, $4)",
    )
    .bind(key.as_str())
    .bind(request.fingerprint.as_str())
    .bind(id.to_string())
    .bind(signed(now))
    .execute(connection)
    .await?;
    Ok(())
}
