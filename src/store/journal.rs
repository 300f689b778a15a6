//! The journal of one claimed debate.

use std::fmt::{self, Write};

use futures::FutureExt;
use futures::future::BoxFuture;
use roundtable_engine::event::{Entry, State};
use roundtable_engine::journal::{Journal, JournalError, Keyed};
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Row};
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
    /// A key or a number of it is in the journal already.
    Taken,
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        if failure.fault == Fault::Taken {
            Self::Taken
        } else {
            Self::Failed(failure)
        }
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Failure::from(error).into()
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
        match self.store.append(batch).await {
            Ok(()) => Ok(()),
            Err(Refusal::Fenced) => Err(JournalError::Fenced),
            Err(Refusal::Failed(failure)) => Err(self.store.failed(failure).into()),
            Err(Refusal::Taken) => Err(JournalError::Duplicate {
                key: self.taken(&keys, first).await?,
            }),
        }
    }

    /// What of a batch stood in the way of it.
    async fn taken(&self, keys: &[String], first: u64) -> Result<String, JournalError> {
        for (index, key) in keys.iter().enumerate() {
            if keys[..index].contains(key) || self.holds(key).await? {
                return Ok(key.clone());
            }
        }
        // All keys are free, so it was a number: somebody else appended under this epoch.
        Ok(format!("entry {first}"))
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

/// One batch by itself: a whole transaction, from BEGIN to COMMIT. The row first: it is conditional on the epoch, and
/// locks out other claims until the commit. Under another epoch nothing is written, and no row comes back.
pub(super) fn transaction(batch: &Batch) -> Result<Appending<'static>, Failure> {
    let tally = batch.tally();
    // No word of a user is part of it: only parameters are counted up.
    let sql = AssertSqlSafe(append_sql(&tally, batch.entries.len()));
    let mut query = bind_tally(sqlx::query(sql), batch, &tally);
    for keyed in &batch.entries {
        query = bind_entry(query, keyed, body(keyed)?);
    }
    Ok(query)
}

/// One batch among others in a transaction.
pub(super) async fn write(connection: &mut AnyConnection, batch: &Batch) -> Result<(), Refusal> {
    let tally = batch.tally();
    let row = bind_tally(sqlx::query(update(&tally).0), batch, &tally)
        .fetch_optional(&mut *connection)
        .await?;
    if row.is_none() {
        return Err(Refusal::Fenced);
    }
    let id = batch.id.to_string();
    for keyed in &batch.entries {
        insert(connection, &id, keyed).await?;
    }
    Ok(())
}

/// `$also`: what else changes in the row. The state is in an index, and naming it would have the index written anew.
macro_rules! update_debate {
    ($also:literal) => {
        concat!(
            "UPDATE debates SET
            updated_at = $3,
            calls = calls + $4,
            retries = retries + $5,
            input_tokens = input_tokens + $6,
            output_tokens = output_tokens + $7,
            cached_tokens = cached_tokens + $8,
            cost_usd = cost_usd + $9,
            cost_known = CASE WHEN $10 = 1 THEN 0 ELSE cost_known END",
            $also,
            " WHERE id = $1 AND epoch = $2 RETURNING epoch"
        )
    };
}

/// A step is done.
const UPDATE: &str = update_debate!("");
/// The debate begins, ends, waits, is opened again or rated.
const UPDATE_STATE: &str = update_debate!(
    ",
    state = CASE WHEN $11 = '' THEN state ELSE $11 END,
    ended_at = CASE WHEN $11 = '' THEN ended_at ELSE $12 END,
    generation = CASE WHEN $13 = 0 THEN generation ELSE $13 END,
    rating = CASE WHEN $14 = 0 THEN rating ELSE $14 END"
);

/// The update of a batch, and how many parameters it has.
fn update(tally: &Tally) -> (&'static str, usize) {
    if tally.moves() {
        (UPDATE_STATE, 14)
    } else {
        (UPDATE, 10)
    }
}

const OF_AN_ENTRY: usize = 5;

fn append_sql(tally: &Tally, entries: usize) -> String {
    let (update, before) = update(tally);
    let mut sql = format!("BEGIN IMMEDIATE; {update};");
    for entry in 0..entries {
        let first = before + entry * OF_AN_ENTRY + 1;
        let [seq, key, at, kind, body] = [0, 1, 2, 3, 4].map(|offset| first + offset);
        // Writing to a string cannot fail.
        let _ = write!(
            sql,
            " INSERT INTO journal (debate_id, seq, key, at, kind, body)
              SELECT $1, ${seq}, ${key}, ${at}, ${kind}, ${body}
              WHERE EXISTS (SELECT 1 FROM debates WHERE id = $1 AND epoch = $2);"
        );
    }
    sql.push_str(" COMMIT");
    sql
}

pub(super) type Appending<'q> = Query<'q, Any, AnyArguments>;

fn bind_tally<'q>(query: Appending<'q>, batch: &Batch, tally: &Tally) -> Appending<'q> {
    let query = query
        .bind(batch.id.to_string())
        .bind(batch.epoch)
        .bind(signed(tally.updated_at))
        .bind(signed(tally.calls))
        .bind(signed(tally.retries))
        .bind(signed(tally.usage.input))
        .bind(signed(tally.usage.output))
        .bind(signed(tally.usage.cached))
        .bind(tally.cost.dollars())
        .bind(i64::from(tally.unknown_cost));
    if !tally.moves() {
        return query;
    }
    query
        .bind(tally.state.map_or("", State::name))
        .bind(tally.ended_at.map(signed))
        .bind(tally.generation.map_or(0, i64::from))
        .bind(tally.rating.map_or(0, i64::from))
}

fn bind_entry<'q>(query: Appending<'q>, keyed: &Keyed, body: String) -> Appending<'q> {
    let Keyed { key, entry } = keyed;
    query
        .bind(signed(entry.seq))
        .bind(key.clone())
        .bind(signed(entry.at))
        .bind(kind(&entry.event))
        .bind(body)
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
    let query = sqlx::query(
        "INSERT INTO journal (debate_id, seq, key, at, kind, body) VALUES ($1, $2, $3, $4, $5, $6)",
    );
    bind_entry(query.bind(id.to_owned()), keyed, body(keyed)?)
        .fetch_optional(connection)
        .await?;
    Ok(())
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
