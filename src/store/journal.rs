//! The journal of one claimed debate.

use std::fmt;

use futures::FutureExt;
use futures::future::BoxFuture;
use roundtable_engine::event::{Entry, State};
use roundtable_engine::journal::{Journal, JournalError, Keyed};
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::errors::{Failure, Fault};
use super::gather::Batch;
use super::tally::{Tally, kind};
use super::{Store, signed};

/// Appends under the epoch of its claim. It may outlive the claim; then it can write until the next one.
pub(super) struct DebateJournal {
    store: Store,
    id: Uuid,
    epoch: i64,
}

impl fmt::Debug for DebateJournal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "journal of {}, epoch {}", self.id, self.epoch)
    }
}

impl Journal for DebateJournal {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        self.append_all(entries).boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        async move { Ok(self.store.entries(self.id).await?) }.boxed()
    }
}

/// Why nothing of a batch was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Fenced,
    Taken { key: String, seq: u64 },
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl DebateJournal {
    pub(super) fn new(store: Store, id: Uuid, epoch: i64) -> Self {
        Self { store, id, epoch }
    }

    async fn append_all(&self, entries: Vec<Keyed>) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        let batch = Batch {
            id: self.id,
            epoch: self.epoch,
            entries,
        };
        let keys: Vec<String> = batch.entries.iter().map(|it| it.key.clone()).collect();
        let Store {
            writer, gathering, ..
        } = &self.store;
        match gathering.append(writer, batch).await {
            Ok(()) => Ok(()),
            Err(Refusal::Fenced) => Err(JournalError::Fenced),
            Err(Refusal::Failed(failure)) => Err(self.store.failed(failure).into()),
            Err(Refusal::Taken { key, seq }) => {
                let twice = keys.iter().filter(|own| **own == key).count() > 1;
                let key = if twice || self.holds(&key).await? {
                    key
                } else {
                    // The key is free, so it was the number: somebody else appended under this epoch.
                    format!("entry {seq}")
                };
                Err(JournalError::Duplicate { key })
            }
        }
    }

    async fn holds(&self, key: &str) -> Result<bool, JournalError> {
        let counted =
            sqlx::query("SELECT COUNT(*) AS found FROM journal WHERE debate_id = $1 AND key = $2")
                .bind(self.id.to_string())
                .bind(key)
                .fetch_one(&self.store.reader)
                .await
                .and_then(|row| row.try_get::<i64, _>("found"));
        match counted {
            Ok(found) => Ok(found > 0),
            Err(error) => Err(self.store.failed(error.into()).into()),
        }
    }
}

/// The row first: it is conditional on the epoch, and locks out other claims until the commit.
pub(super) async fn write(connection: &mut AnyConnection, batch: &Batch) -> Result<(), Refusal> {
    let id = batch.id.to_string();
    let tally = Tally::of(batch.entries.iter().map(|keyed| &keyed.entry));
    if !add_to_row(connection, &id, batch.epoch, &tally).await? {
        return Err(Refusal::Fenced);
    }
    for keyed in &batch.entries {
        insert(connection, &id, keyed)
            .await
            .map_err(|failure| match failure.fault {
                Fault::Taken => Refusal::Taken {
                    key: keyed.key.clone(),
                    seq: keyed.entry.seq,
                },
                Fault::NotAFolder
                | Fault::ReadOnly
                | Fault::Full
                | Fault::Locked
                | Fault::Damaged
                | Fault::Unreadable
                | Fault::Other => Refusal::Failed(failure),
            })?;
    }
    Ok(())
}

/// `false` if the debate is gone or has another epoch.
async fn add_to_row(
    connection: &mut AnyConnection,
    id: &str,
    epoch: i64,
    tally: &Tally,
) -> Result<bool, Failure> {
    let row = sqlx::query(
        "UPDATE debates SET
             updated_at = $3,
             state = CASE WHEN $4 = '' THEN state ELSE $4 END,
             ended_at = CASE WHEN $4 = '' THEN ended_at ELSE $5 END,
             generation = CASE WHEN $6 = 0 THEN generation ELSE $6 END,
             rating = CASE WHEN $7 = 0 THEN rating ELSE $7 END,
             calls = calls + $8,
             retries = retries + $9,
             input_tokens = input_tokens + $10,
             output_tokens = output_tokens + $11,
             cached_tokens = cached_tokens + $12,
             cost_usd = cost_usd + $13,
             cost_known = CASE WHEN $14 = 1 THEN 0 ELSE cost_known END
         WHERE id = $1 AND epoch = $2
         RETURNING epoch",
    )
    .bind(id)
    .bind(epoch)
    .bind(signed(tally.updated_at))
    .bind(tally.state.map_or("", State::name))
    .bind(tally.ended_at.map(signed))
    .bind(tally.generation.map_or(0, i64::from))
    .bind(tally.rating.map_or(0, i64::from))
    .bind(signed(tally.calls))
    .bind(signed(tally.retries))
    .bind(signed(tally.usage.input))
    .bind(signed(tally.usage.output))
    .bind(signed(tally.usage.cached))
    .bind(tally.cost.dollars())
    .bind(i64::from(tally.unknown_cost))
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some())
}

pub(super) async fn insert(
    connection: &mut AnyConnection,
    id: &str,
    keyed: &Keyed,
) -> Result<(), Failure> {
    let Keyed { key, entry } = keyed;
    let body = serde_json::to_string(&entry.event)
        .map_err(|error| Failure::unreadable(format!("entry '{key}': {error}")))?;
    sqlx::query(
        "INSERT INTO journal (debate_id, seq, key, at, kind, body) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(id)
    .bind(signed(entry.seq))
    .bind(key.as_str())
    .bind(signed(entry.at))
    .bind(kind(&entry.event))
    .bind(body)
    .fetch_optional(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
