//! Appends to many debates with one statement in an `SQLite` file.
//!
//! Each append updates its debate's row and inserts entries. Several statements would need one reply each from the driver's
//! thread; one statement can do both only with triggers. So rows are inserted into a temporary view that consists of `INSTEAD OF`
//! triggers. It belongs to the connection and is not in the file.

use std::collections::HashSet;
use std::fmt::Write;

use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Executor};

use super::super::errors::Fault;
use super::super::row_delta::RowDelta;
use super::super::writer::Writer;
use super::super::{State, signed};
use super::{FencedDebates, Refusal, StoredBatch, WriteError};

macro_rules! insert {
    () => {
        "INSERT INTO journal (debate_id, seq, key, at, kind, body, checksum)
            VALUES (NEW.debate_id, NEW.seq, NEW.key, NEW.at, NEW.kind, NEW.body, NEW.checksum);"
    };
}

/// Updates the row first, only if the epoch matches; otherwise aborts.
macro_rules! first {
    ($name:literal, $when:literal, $also:literal) => {
        concat!(
            "CREATE TEMP TRIGGER ",
            $name,
            " INSTEAD OF INSERT ON appending WHEN ",
            $when,
            " BEGIN UPDATE debates SET
                updated_at = NEW.updated_at,
                chain = NEW.chain,
                calls = calls + NEW.calls,
                retries = retries + NEW.retries,
                input_tokens = input_tokens + NEW.input_tokens,
                output_tokens = output_tokens + NEW.output_tokens,
                cached_tokens = cached_tokens + NEW.cached_tokens,
                cost_usd = cost_usd + NEW.cost_usd,
                cost_known = CASE WHEN NEW.cost_unknown = 1 THEN 0 ELSE cost_known END",
            $also,
            " WHERE id = NEW.debate_id AND epoch = NEW.epoch;
            SELECT RAISE(ABORT, 'fenced') WHERE changes() = 0;",
            insert!(),
            " END;"
        )
    };
}

/// The first entry of a batch carries the epoch and the changes to the row; the others leave these columns NULL. `state` is
/// indexed, so it is set only by batches that change it.
const TRIGGERS: &str = concat!(
    "CREATE TEMP VIEW appending AS SELECT
        NULL AS debate_id, NULL AS seq, NULL AS key, NULL AS at, NULL AS kind, NULL AS body,
        NULL AS checksum, NULL AS chain, NULL AS epoch, NULL AS moves, NULL AS updated_at, NULL AS calls, NULL AS retries, NULL AS input_tokens,
        NULL AS output_tokens, NULL AS cached_tokens, NULL AS cost_usd, NULL AS cost_unknown,
        NULL AS state, NULL AS ended_at, NULL AS generation, NULL AS rating;",
    first!("append_a_step", "NEW.moves = 0", ""),
    first!(
        "append_a_move",
        "NEW.moves = 1",
        ", state = COALESCE(NEW.state, state),
           ended_at = CASE WHEN NEW.state IS NULL THEN ended_at ELSE NEW.ended_at END,
           generation = COALESCE(NEW.generation, generation),
           rating = COALESCE(NEW.rating, rating)"
    ),
    "CREATE TEMP TRIGGER append_more INSTEAD OF INSERT ON appending WHEN NEW.moves IS NULL BEGIN ",
    insert!(),
    " END"
);

const COLUMNS: usize = 22;

/// Creates the view and triggers on a new connection.
pub(in super::super) async fn prepare(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    connection.execute(TRIGGERS).await?;
    Ok(())
}

pub(super) async fn write(
    writer: &Writer,
    batches: &[StoredBatch<'_>],
) -> Result<FencedDebates, WriteError> {
    let Err(failure) = writer.execute(statement(batches)).await else {
        return Ok(FencedDebates(HashSet::new()));
    };
    match (failure.fault, batches) {
        (Fault::Fenced, [stored]) => Ok(FencedDebates([stored.batch.id].into())),
        (Fault::Fenced, _) => Err(WriteError::Refused(Refusal::Fenced)),
        (Fault::Duplicate, _) => Err(WriteError::Refused(Refusal::Duplicate)),
        _ => Err(WriteError::Failed(failure)),
    }
}

type Statement = Query<'static, Any, AnyArguments>;

fn statement(batches: &[StoredBatch<'_>]) -> Statement {
    let rows = batches.iter().map(|batch| batch.entries.len()).sum();
    // The SQL contains only parameters, no user input.
    let mut statement = sqlx::query(AssertSqlSafe(insert_sql(rows)));
    for stored in batches {
        for (index, entry) in stored.entries.iter().enumerate() {
            let first = (index == 0).then(|| (stored.batch.epoch, stored.batch.row_delta()));
            statement = statement
                .bind(stored.id.clone())
                .bind(entry.seq)
                .bind(entry.key.clone())
                .bind(entry.at)
                .bind(entry.kind)
                .bind(entry.body.clone())
                .bind(entry.checksum.clone())
                .bind(first.is_some().then(|| stored.last.clone()));
            statement = bind_first(statement, first);
        }
    }
    statement
}

fn insert_sql(rows: usize) -> String {
    let mut sql = String::from("INSERT INTO appending VALUES ");
    for row in 0..rows {
        let comma = if row == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(sql, "{comma}(?{})", ",?".repeat(COLUMNS - 1));
    }
    sql
}

fn bind_first(statement: Statement, first: Option<(i64, RowDelta)>) -> Statement {
    let delta = first.map(|(_, delta)| delta);
    let sum = |value: fn(&RowDelta) -> u64| delta.as_ref().map(value).map(signed);
    statement
        .bind(first.map(|(epoch, _)| epoch))
        .bind(delta.map(|delta| i64::from(delta.changes_state())))
        .bind(sum(|delta| delta.updated_at))
        .bind(sum(|delta| delta.calls))
        .bind(sum(|delta| delta.retries))
        .bind(sum(|delta| delta.usage.input))
        .bind(sum(|delta| delta.usage.output))
        .bind(sum(|delta| delta.usage.cached))
        .bind(delta.map(|delta| delta.cost.dollars()))
        .bind(delta.map(|delta| i64::from(delta.unknown_cost)))
        .bind(delta.and_then(|delta| delta.state).map(State::name))
        .bind(delta.and_then(|delta| delta.ended_at).map(signed))
        .bind(delta.and_then(|delta| delta.generation).map(i64::from))
        .bind(delta.and_then(|delta| delta.rating).map(i64::from))
}
