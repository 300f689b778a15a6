//! The journal of one leased debate.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use roundtable_engine::event::Entry;
use roundtable_engine::journal::{Journal, JournalError, Keyed};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::appender::{Batch, Refusal};
use super::chain::{ChainHead, Link};
use super::errors::{Failure, StoreError};
use super::row_delta::kind;
use super::{Store, signed};

/// Appends under the epoch of its lease. After the lease ends, it can write until the next lease raises the epoch.
#[derive(Debug)]
pub(super) struct DebateJournal {
    store: Store,
    id: Uuid,
    epoch: i64,
    chain: Arc<ChainHead>,
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
    pub(super) fn new(store: Store, id: Uuid, epoch: i64, chain: String) -> Self {
        Self {
            store,
            id,
            epoch,
            chain: Arc::new(ChainHead::new(chain)),
        }
    }

    async fn append_all(&self, entries: Vec<Keyed>) -> Result<(), JournalError> {
        let Some(first) = entries.first().map(|keyed| keyed.entry.seq) else {
            return Ok(());
        };
        if self.chain.is_unknown() {
            self.chain.set(self.store.last_checksum(self.id).await?);
        }
        let keys: Vec<String> = entries.iter().map(|keyed| keyed.key.clone()).collect();
        let batch = Batch {
            id: self.id,
            epoch: self.epoch,
            entries,
            chain: Arc::clone(&self.chain),
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

/// An entry as it is stored.
#[derive(Debug)]
pub(super) struct StoredEntry {
    pub(super) seq: i64,
    pub(super) key: String,
    pub(super) at: i64,
    pub(super) kind: &'static str,
    pub(super) body: String,
    pub(super) checksum: String,
}

impl StoredEntry {
    /// `previous` is the checksum of the entry before.
    pub(super) fn new(debate: &str, keyed: &Keyed, previous: &str) -> Result<Self, Failure> {
        let body = serde_json::to_string(&keyed.entry.event)
            .map_err(|error| Failure::unreadable(format!("entry '{}': {error}", keyed.key)))?;
        let mut entry = Self {
            seq: signed(keyed.entry.seq),
            key: keyed.key.clone(),
            at: signed(keyed.entry.at),
            kind: kind(&keyed.entry.event),
            body,
            checksum: String::new(),
        };
        let link = Link {
            debate,
            seq: entry.seq,
            key: entry.key.as_bytes(),
            at: entry.at,
            kind: entry.kind.as_bytes(),
            body: entry.body.as_bytes(),
        };
        entry.checksum = link.checksum(previous);
        Ok(entry)
    }
}

impl Store {
    /// The checksum of a debate's last entry, from its row. Empty if there is no such debate; an append is then fenced.
    async fn last_checksum(&self, id: Uuid) -> Result<String, StoreError> {
        let query = sqlx::query("SELECT chain FROM debates WHERE id = $1").bind(id.to_string());
        let last = self.read_optional(query, |row: &AnyRow| Ok(row.try_get("chain")?));
        Ok(last.await?.unwrap_or_default())
    }
}

/// Appends an entry outside of a lease. The caller has locked the debate's row.
pub(super) async fn insert(
    connection: &mut AnyConnection,
    id: &str,
    keyed: &Keyed,
) -> Result<(), Failure> {
    let row = sqlx::query("SELECT chain FROM debates WHERE id = $1")
        .bind(id.to_owned())
        .fetch_one(&mut *connection)
        .await?;
    let entry = StoredEntry::new(id, keyed, row.try_get("chain")?)?;
    sqlx::query("UPDATE debates SET chain = $2 WHERE id = $1")
        .bind(id.to_owned())
        .bind(entry.checksum.clone())
        .fetch_optional(&mut *connection)
        .await?;
    sqlx::query(
        "INSERT INTO journal (debate_id, seq, key, at, kind, body, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(id.to_owned())
    .bind(entry.seq)
    .bind(entry.key)
    .bind(entry.at)
    .bind(entry.kind)
    .bind(entry.body)
    .bind(entry.checksum)
    .fetch_optional(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
