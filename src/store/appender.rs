//! Appends on a `PostgreSQL` server: one task writes for all debates of this process, as many appends in one statement as
//! have come in while the one before was on its way.
//!
//! The statement is a transaction of its own: one message there, one back, one wait for the disk. A task, because whoever
//! waits may go away at any time, and what it has begun for others must be brought to its end.

use std::collections::HashSet;

use serde::Serialize;
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Row};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::errors::Failure;
use super::folder::PATIENCE;
use super::gather::Batch;
use super::journal::{Refusal, body};
use super::ownership::connect;
use super::tally::{Tally, kind};
use super::{State, signed};

/// How many appends go into one statement at most.
const MOST: usize = 256;

#[derive(Debug)]
pub(super) struct Appender {
    sender: std::sync::Mutex<Option<mpsc::UnboundedSender<Waiting>>>,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Waiting {
    batch: Batch,
    tell: oneshot::Sender<Result<(), Refusal>>,
}

impl Appender {
    pub(super) fn start(options: AnyConnectOptions) -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        let tasks = TaskTracker::new();
        let writing = Writing {
            options,
            connection: None,
        };
        tasks.spawn(writing.run(heard));
        Self {
            sender: std::sync::Mutex::new(Some(sender)),
            tasks,
        }
    }

    pub(super) async fn append(&self, batch: Batch) -> Result<(), Refusal> {
        let (tell, told) = oneshot::channel();
        let sent = self
            .lock()
            .as_ref()
            .is_some_and(|sender| sender.send(Waiting { batch, tell }).is_ok());
        if !sent {
            return Err(Refusal::Failed(Failure::lost()));
        }
        told.await
            .unwrap_or_else(|_| Err(Refusal::Failed(Failure::lost())))
    }

    /// Waits until everything that was asked for is written.
    pub(super) async fn close(&self) {
        self.lock().take();
        self.tasks.close();
        let _ = tokio::time::timeout(PATIENCE, self.tasks.wait()).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<mpsc::UnboundedSender<Waiting>>> {
        self.sender
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

struct Writing {
    options: AnyConnectOptions,
    connection: Option<AnyConnection>,
}

/// How a statement failed.
enum Broken {
    /// The database has refused it: of several appends one may be at fault.
    Refused(Refusal),
    /// The connection is gone, or never came about.
    Cut(Failure),
}

impl Writing {
    async fn run(mut self, mut heard: mpsc::UnboundedReceiver<Waiting>) {
        let mut waiting = Vec::new();
        while heard.recv_many(&mut waiting, MOST).await > 0 {
            let mut rest = std::mem::take(&mut waiting);
            while !rest.is_empty() {
                let (now, later) = one_of_each(rest);
                self.write_all(now).await;
                rest = later;
            }
        }
    }

    /// Tells each how it went. Where one broke the statement of all, each gets its own.
    async fn write_all(&mut self, all: Vec<Waiting>) {
        let batches: Vec<&Batch> = all.iter().map(|waiting| &waiting.batch).collect();
        match self.write(&batches).await {
            Ok(written) => {
                for waiting in all {
                    let is_written = written.contains(&waiting.batch.id.to_string());
                    let outcome = if is_written {
                        Ok(())
                    } else {
                        Err(Refusal::Fenced)
                    };
                    // Who no longer waits does not want to know.
                    let _ = waiting.tell.send(outcome);
                }
            }
            Err(Broken::Refused(_)) if all.len() > 1 => {
                for waiting in all {
                    Box::pin(self.write_all(vec![waiting])).await;
                }
            }
            Err(Broken::Refused(refusal)) => {
                for waiting in all {
                    let _ = waiting.tell.send(Err(refusal.clone()));
                }
            }
            Err(Broken::Cut(failure)) => {
                for waiting in all {
                    let _ = waiting.tell.send(Err(Refusal::Failed(failure.clone())));
                }
            }
        }
    }

    /// The debates that were written to; the others were fenced.
    async fn write(&mut self, batches: &[&Batch]) -> Result<HashSet<String>, Broken> {
        let (rows, entries) =
            as_json(batches).map_err(|failure| Broken::Refused(failure.into()))?;
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.options).await.map_err(Broken::Cut)?,
        };
        let writing = sqlx::query(APPEND)
            .bind(rows)
            .bind(entries)
            .fetch_all(&mut connection);
        // A connection may be dead without a word, and all debates of this process wait behind it. Whether it was written is then
        // not known, as with a connection that breaks: whoever goes on looks into the journal.
        let Ok(written) = tokio::time::timeout(2 * PATIENCE, writing).await else {
            return Err(Broken::Cut(Failure::silent()));
        };
        match written {
            Ok(rows) => {
                self.connection = Some(connection);
                let ids = rows.iter().map(|row| row.try_get::<String, _>("id"));
                ids.collect::<Result<_, _>>()
                    .map_err(|error| Broken::Refused(error.into()))
            }
            Err(error) if is_refusal(&error) => {
                self.connection = Some(connection);
                Err(Broken::Refused(error.into()))
            }
            Err(error) => Err(Broken::Cut(error.into())),
        }
    }
}

/// Whether the connection is as good as before. A server that is going down says so with an error of this class.
fn is_refusal(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        let code = error.code();
        !code.is_some_and(|code| code.starts_with("57P"))
    })
}

/// The first of each debate, and what has to wait for it: a statement changes a row once.
fn one_of_each(all: Vec<Waiting>) -> (Vec<Waiting>, Vec<Waiting>) {
    let mut seen = HashSet::new();
    all.into_iter()
        .partition(|waiting| seen.insert(waiting.batch.id))
}

/// The row first: it is conditional on the epoch, and locks out other claims. Under another epoch nothing is written, and the
/// id does not come back. Whoever listens anywhere is told which debates have something new, and looks for itself.
const APPEND: &str = "WITH given AS (
        SELECT * FROM json_to_recordset(CAST($1 AS json)) AS given(
            id text, epoch bigint, updated_at bigint, state text, ended_at bigint, generation bigint, rating bigint,
            calls bigint, retries bigint, input_tokens bigint, output_tokens bigint, cached_tokens bigint,
            cost_usd double precision, cost_unknown bigint)
    ), owned AS (
        UPDATE debates SET
            updated_at = given.updated_at,
            state = CASE WHEN given.state = '' THEN debates.state ELSE given.state END,
            ended_at = CASE WHEN given.state = '' THEN debates.ended_at ELSE given.ended_at END,
            generation = CASE WHEN given.generation = 0 THEN debates.generation ELSE given.generation END,
            rating = CASE WHEN given.rating = 0 THEN debates.rating ELSE given.rating END,
            calls = debates.calls + given.calls,
            retries = debates.retries + given.retries,
            input_tokens = debates.input_tokens + given.input_tokens,
            output_tokens = debates.output_tokens + given.output_tokens,
            cached_tokens = debates.cached_tokens + given.cached_tokens,
            cost_usd = debates.cost_usd + given.cost_usd,
            cost_known = CASE WHEN given.cost_unknown = 1 THEN 0 ELSE debates.cost_known END
        FROM given WHERE debates.id = given.id AND debates.epoch = given.epoch
        RETURNING debates.id
    ), added AS (
        INSERT INTO journal (debate_id, seq, key, at, kind, body)
        SELECT entry.id, entry.seq, entry.key, entry.at, entry.kind, entry.body
        FROM json_to_recordset(CAST($2 AS json)) AS entry(
            id text, seq bigint, key text, at bigint, kind text, body text)
        JOIN owned ON owned.id = entry.id
    )
    SELECT id, CAST(pg_notify('roundtable_journal', id) AS text) AS told FROM owned";

#[derive(Serialize)]
struct RowJson {
    id: String,
    epoch: i64,
    updated_at: i64,
    state: &'static str,
    ended_at: Option<i64>,
    generation: i64,
    rating: i64,
    calls: i64,
    retries: i64,
    input_tokens: i64,
    output_tokens: i64,
    cached_tokens: i64,
    cost_usd: f64,
    cost_unknown: i64,
}

#[derive(Serialize)]
struct EntryJson<'b> {
    id: String,
    seq: i64,
    key: &'b str,
    at: i64,
    kind: &'static str,
    body: String,
}

fn as_json(batches: &[&Batch]) -> Result<(String, String), Failure> {
    let mut rows = Vec::with_capacity(batches.len());
    let mut entries = Vec::new();
    for batch in batches {
        let tally = Tally::of(batch.entries.iter().map(|keyed| &keyed.entry));
        rows.push(RowJson {
            id: batch.id.to_string(),
            epoch: batch.epoch,
            updated_at: signed(tally.updated_at),
            state: tally.state.map_or("", State::name),
            ended_at: tally.ended_at.map(signed),
            generation: tally.generation.map_or(0, i64::from),
            rating: tally.rating.map_or(0, i64::from),
            calls: signed(tally.calls),
            retries: signed(tally.retries),
            input_tokens: signed(tally.usage.input),
            output_tokens: signed(tally.usage.output),
            cached_tokens: signed(tally.usage.cached),
            cost_usd: tally.cost.dollars(),
            cost_unknown: i64::from(tally.unknown_cost),
        });
        for keyed in &batch.entries {
            entries.push(EntryJson {
                id: batch.id.to_string(),
                seq: signed(keyed.entry.seq),
                key: &keyed.key,
                at: signed(keyed.entry.at),
                kind: kind(&keyed.entry.event),
                body: body(keyed)?,
            });
        }
    }
    // Everything in them has been JSON or numbers before.
    let text = |error: serde_json::Error| Failure::unreadable(error.to_string());
    Ok((
        serde_json::to_string(&rows).map_err(text)?,
        serde_json::to_string(&entries).map_err(text)?,
    ))
}

#[cfg(test)]
#[path = "appender_tests.rs"]
mod tests;
