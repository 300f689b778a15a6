//! Appends to many debates with one statement on a `PostgreSQL` server.

use std::collections::HashSet;

use serde_json::{Value, json};
use sqlx::any::{AnyConnectOptions, AnyRow};
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::super::errors::Failure;
use super::super::ownership::connect;
use super::super::{SERVER_TIMEOUT, State, signed};
use super::{FencedDebates, StoredBatch, WriteError};

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

    pub(super) async fn write(
        &mut self,
        batches: &[StoredBatch<'_>],
    ) -> Result<FencedDebates, WriteError> {
        let (rows, entries) = as_json(batches);
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => connect(&self.options).await.map_err(WriteError::Failed)?,
        };
        let transaction = sqlx::query(APPEND)
            .bind(rows)
            .bind(entries)
            .fetch_all(&mut connection);
        // All debates of this process wait for this connection, and a dead one gives no error.
        let Ok(written) = tokio::time::timeout(SERVER_TIMEOUT, transaction).await else {
            return Err(WriteError::Failed(Failure::timed_out()));
        };
        match written {
            Ok(rows) => {
                self.open = Some(connection);
                fenced(batches, &rows)
            }
            Err(error) if is_refusal(&error) => {
                self.open = Some(connection);
                Err(WriteError::Refused(Failure::from(error).into()))
            }
            Err(error) => Err(WriteError::Failed(error.into())),
        }
    }
}

/// The debates for which no row was returned.
fn fenced(batches: &[StoredBatch<'_>], rows: &[AnyRow]) -> Result<FencedDebates, WriteError> {
    let mut fenced: HashSet<Uuid> = batches.iter().map(|stored| stored.batch.id).collect();
    for row in rows {
        let id: String = row
            .try_get("id")
            .map_err(|error| WriteError::Failed(error.into()))?;
        if let Ok(id) = Uuid::parse_str(&id) {
            fenced.remove(&id);
        }
    }
    Ok(FencedDebates(fenced))
}

/// Whether the connection is still usable. Errors of class 57P mean that the server is shutting down.
fn is_refusal(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        let code = error.code();
        !code.is_some_and(|code| code.starts_with("57P"))
    })
}

/// Updates the row first, only if the epoch matches, which also locks out other leases. Under another epoch nothing is written
/// and the id is not returned. Listeners are notified which debates have new entries.
const APPEND: &str = "WITH given AS (
        SELECT * FROM json_to_recordset(CAST($1 AS json)) AS given(
            id text, epoch bigint, chain text, updated_at bigint, state text, ended_at bigint, generation bigint, rating bigint,
            calls bigint, retries bigint, input_tokens bigint, output_tokens bigint, cached_tokens bigint,
            cost_usd double precision, cost_unknown bigint)
    ), owned AS (
        UPDATE debates SET
            updated_at = given.updated_at,
            chain = given.chain,
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
        INSERT INTO journal (debate_id, seq, key, at, kind, body, checksum)
        SELECT entry.id, entry.seq, entry.key, entry.at, entry.kind, entry.body, entry.checksum
        FROM json_to_recordset(CAST($2 AS json)) AS entry(
            id text, seq bigint, key text, at bigint, kind text, body text, checksum text)
        JOIN owned ON owned.id = entry.id
    )
    SELECT id, CAST(pg_notify('roundtable_journal', id) AS text) AS told FROM owned";

/// The two parameters of [`APPEND`].
fn as_json(batches: &[StoredBatch<'_>]) -> (String, String) {
    let mut rows = Vec::with_capacity(batches.len());
    let mut entries = Vec::new();
    for stored in batches {
        let delta = stored.batch.row_delta();
        rows.push(json!({
            "id": stored.id,
            "epoch": stored.batch.epoch,
            "chain": stored.last,
            "updated_at": signed(delta.updated_at),
            "state": delta.state.map_or("", State::name),
            "ended_at": delta.ended_at.map(signed),
            "generation": delta.generation.unwrap_or(0),
            "rating": delta.rating.unwrap_or(0),
            "calls": signed(delta.calls),
            "retries": signed(delta.retries),
            "input_tokens": signed(delta.usage.input),
            "output_tokens": signed(delta.usage.output),
            "cached_tokens": signed(delta.usage.cached),
            "cost_usd": delta.cost.dollars(),
            "cost_unknown": i64::from(delta.unknown_cost),
        }));
        for entry in &stored.entries {
            entries.push(json!({
                "id": stored.id,
                "seq": entry.seq,
                "key": entry.key,
                "at": entry.at,
                "kind": entry.kind,
                "body": entry.body,
                "checksum": entry.checksum,
            }));
        }
    }
    (
        Value::from(rows).to_string(),
        Value::from(entries).to_string(),
    )
}
