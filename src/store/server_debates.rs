//! Debates that a server runs, and idempotent creation requests.

use roundtable_engine::event::{Millis, Setup, State};
use roundtable_engine::table::Budget;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::errors::{Failure, Fault, LeaseError, StoreError};
use super::lease::{DebateOrigin, Runner};
use super::location::Location;
use super::row::parse_id;
use super::{Lease, Store, signed, to_json};

/// A request to create a debate. Requests with the same idempotency key create one debate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CreateRequest {
    pub key: Option<String>,
    /// A hash of the request's content.
    pub fingerprint: String,
    /// The token that sent it, and owns the debate.
    pub token: Option<Uuid>,
    /// Whether only the waiting client knows of the debate: if its process dies, no server resumes it, until
    /// [`Store::set_served`] says that it may.
    pub is_attended: bool,
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
            is_served: !request.is_attended,
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

    /// The debate that this request created before, if any. Never [`Created::New`].
    pub(crate) async fn find_created<T>(
        &self,
        request: &CreateRequest,
    ) -> Result<Option<Created<T>>, StoreError> {
        let Some(key) = &request.key else {
            return Ok(None);
        };
        let query = sqlx::query("SELECT fingerprint, debate_id FROM requests WHERE key = $1")
            .bind(key.as_str());
        let read = |row: &AnyRow| {
            if row.try_get::<&str, _>("fingerprint")? == request.fingerprint {
                Ok(Created::Existing(parse_id(row.try_get("debate_id")?)?))
            } else {
                Ok(Created::KeyConflict)
            }
        };
        self.read_optional(query, read).await
    }

    /// Frees the idempotency key of a request, so that it can be sent again.
    pub(crate) async fn forget_request(&self, request: &CreateRequest) -> Result<(), StoreError> {
        let key = request.key.as_deref().unwrap_or_default();
        let query = sqlx::query("DELETE FROM requests WHERE key = $1").bind(key.to_owned());
        self.run(self.writer.change(query)).await.map(drop)
    }

    /// Whether servers resume this debate by themselves if its process dies.
    pub(crate) async fn set_served(&self, id: Uuid, is_served: bool) -> Result<(), StoreError> {
        let query = sqlx::query("UPDATE debates SET served = $2 WHERE id = $1 AND served <> $2")
            .bind(id.to_string())
            .bind(i64::from(is_served));
        self.run(self.writer.change(query)).await.map(drop)
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
        let budget = budget.map(to_json).transpose();
        let budget = budget.map_err(|failure| self.failed(failure))?;
        let query = sqlx::query(
            "UPDATE debates SET state = $2, ended_at = NULL, served = 1, budget = $3 WHERE id = $1",
        )
        .bind(id.to_string())
        .bind(State::Queued.name())
        .bind(budget.unwrap_or_default());
        self.run(self.writer.change(query)).await.map(drop)
    }

    /// Debates in a data folder that a server runs or has queued and that no process holds, oldest first. The server that ran
    /// them has died, or has lost them. On a database server, the job queue finds them.
    pub(crate) async fn abandoned_server_debates(&self) -> Result<Vec<Uuid>, StoreError> {
        let Location::Folder(folder) = &*self.location else {
            return Ok(Vec::new());
        };
        let mut ids = self
            .select_ids(
                "SELECT id FROM debates WHERE served = 1 AND state IN ('queued', 'running') ORDER BY created_at, id",
            )
            .await?;
        ids.retain(|id| folder.is_debate_free(*id));
        Ok(ids)
    }

    /// Checks that the database responds.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let answer = sqlx::query("SELECT CAST(1 AS BIGINT) AS one");
        self.read_number(answer).await.map(drop)
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
