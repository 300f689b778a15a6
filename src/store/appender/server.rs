//! One statement that appends to many debates on a `PostgreSQL` server.

use std::collections::HashSet;

use serde::Serialize;
use sqlx::any::{AnyConnectOptions, AnyRow};
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::super::errors::Failure;
use super::super::folder::PATIENCE;
use super::super::journal::body;
use super::super::ownership::connect;
use super::super::row_delta::kind;
use super::super::{State, signed};
use super::{Batch, Broken, Fenced};

pub(super) struct Connection {
    options: AnyConnectOptions,
    open: Option<AnyConnection>,
}

impl Connection {
    pub(super) fn new(options: AnyConnectOptions) -> Self {
        Self {
            options,
            open: None,
        }
    }

    pub(super) async fn write(&mut self, batches: &[&Batch]) -> Result<Fenced, Broken> {
        let (rows, entries) =
            as_json(batches).map_err(|failure| Broken::Refused(failure.into()))?;
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => connect(&self.options).await.map_err(Broken::Failed)?,
        };
        let writing = sqlx::query(APPEND)
            .bind(rows)
            .bind(entries)
            .fetch_all(&mut connection);
        // A connection may be dead without a word, and all debates of this process wait behind it.
        let Ok(written) = tokio::time::timeout(2 * PATIENCE, writing).await else {
            return Err(Broken::Failed(Failure::silent()));
        };
        match written {
            Ok(rows) => {
                self.open = Some(connection);
                fenced(batches, &rows)
            }
            Err(error) if is_refusal(&error) => {
                self.open = Some(connection);
                Err(Broken::Refused(Failure::from(error).into()))
            }
            Err(error) => Err(Broken::Failed(error.into())),
        }
    }
}

/// Those of which no row came back.
fn fenced(batches: &[&Batch], rows: &[AnyRow]) -> Result<Fenced, Broken> {
    let mut fenced: HashSet<Uuid> = batches.iter().map(|batch| batch.id).collect();
    for row in rows {
        let id: String = row
            .try_get("id")
            .map_err(|error| Broken::Failed(error.into()))?;
        if let Ok(id) = Uuid::parse_str(&id) {
            fenced.remove(&id);
        }
    }
    Ok(Fenced(fenced))
}

/// Whether the connection is as good as before. A server that is going down says so with an error of this class.
fn is_refusal(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        let code = error.code();
        !code.is_some_and(|code| code.starts_with("57P"))
    })
}

/// The row first: it is conditional on the epoch, and locks out other leases. Under another epoch nothing is written, and the
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
        let tally = batch.tally();
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
