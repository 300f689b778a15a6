//! The journal of one leased debate.

use futures::FutureExt;
use futures::future::BoxFuture;
use roundtable_engine::event::Entry;
use roundtable_engine::journal::{Journal, JournalError, Keyed};
use sqlx::AnyConnection;
use uuid::Uuid;

use super::appender::{Batch, Refusal};
use super::errors::Failure;
use super::row_delta::kind;
use super::{Store, signed};

/// Appends under the epoch of its lease. After the lease ends, it can write until the next lease raises the epoch.
#[derive(Debug)]
pub(super) struct DebateJournal {
    store: Store,
    id: Uuid,
    epoch: i64,
}

impl Journal for DebateJournal {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        self.append_all(entries).boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        async move { Ok(self.store.entries(self.id).await?) }.boxed()
    }
}

impl DebateJournal {
    pub(super) fn new(store: Store, id: Uuid, epoch: i64) -> Self {
        Self { store, id, epoch }
    }

    async fn append_all(&self, entries: Vec<Keyed>) -> Result<(), JournalError> {
        let Some(first) = entries.first().map(|keyed| keyed.entry.seq) else {
            return Ok(());
        };
        let keys: Vec<String> = entries.iter().map(|keyed| keyed.key.clone()).collect();
        let batch = Batch {
            id: self.id,
            epoch: self.epoch,
            entries,
        };
        match self.store.appender.append(batch).await {
            Ok(()) => Ok(()),
            Err(Refusal::Fenced) => Err(JournalError::Fenced),
            Err(Refusal::Failed(failure)) => Err(self.store.failed(failure).into()),
            Err(Refusal::Duplicate) => Err(JournalError::Duplicate {
                key: self.find_duplicate(&keys, first).await?,
            }),
        }
    }

    /// The key that made a batch fail.
    async fn find_duplicate(&self, keys: &[String], first: u64) -> Result<String, JournalError> {
        for (index, key) in keys.iter().enumerate() {
            if keys[..index].contains(key) || self.contains(key).await? {
                return Ok(key.clone());
            }
        }
        // No key is a duplicate, so the number is: another writer appended under this epoch.
        Ok(format!("entry {first}"))
    }

    async fn contains(&self, key: &str) -> Result<bool, JournalError> {
        let query =
            sqlx::query("SELECT COUNT(*) AS found FROM journal WHERE debate_id = $1 AND key = $2")
                .bind(self.id.to_string())
                .bind(key);
        Ok(self.store.read_number(query).await? > 0)
    }
}

pub(super) fn body(keyed: &Keyed) -> Result<String, Failure> {
    serde_json::to_string(&keyed.entry.event)
        .map_err(|error| Failure::unreadable(format!("entry '{}': {error}", keyed.key)))
}

pub(super) async fn insert(
    connection: &mut AnyConnection,
    id: &str,
    keyed: &Keyed,
) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO journal (debate_id, seq, key, at, kind, body) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(id.to_owned())
    .bind(signed(keyed.entry.seq))
    .bind(keyed.key.clone())
    .bind(signed(keyed.entry.at))
    .bind(kind(&keyed.entry.event))
    .bind(body(keyed)?)
    .fetch_optional(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
