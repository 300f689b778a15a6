//! One statement that appends to many debates in an `SQLite` file.
//!
//! Each append changes its debate's row and adds entries. In one message to the driver's thread that is only possible with a
//! trigger: several statements would be answered one by one, and each answer wakes this side for nothing. So rows are
//! written into a view that is nothing but its triggers. It belongs to the connection and is not in the file.

use std::collections::HashSet;
use std::fmt::Write;

use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Executor};

use super::super::errors::{Failure, Fault};
use super::super::journal::body;
use super::super::row_delta::{Tally, kind};
use super::super::writer::Writer;
use super::super::{State, signed};
use super::{Batch, Broken, Fenced, Refusal};

macro_rules! insert {
    () => {
        "INSERT INTO journal (debate_id, seq, key, at, kind, body)
            VALUES (NEW.debate_id, NEW.seq, NEW.key, NEW.at, NEW.kind, NEW.body);"
    };
}

/// The row first: it is conditional on the epoch. Under another one nothing is written.
macro_rules! first {
    ($name:literal, $when:literal, $also:literal) => {
        concat!(
            "CREATE TEMP TRIGGER ",
            $name,
            " INSTEAD OF INSERT ON appending WHEN ",
            $when,
            " BEGIN UPDATE debates SET
                updated_at = NEW.updated_at,
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

/// The first entry of a batch brings what changes in the row, and whether anything may: it names the epoch. All that follow
/// it leave that out. The state has an index that would be written anew with it, so only those name it that change it.
const TRIGGERS: &str = concat!(
    "CREATE TEMP VIEW appending AS SELECT
        NULL AS debate_id, NULL AS seq, NULL AS key, NULL AS at, NULL AS kind, NULL AS body,
        NULL AS epoch, NULL AS moves, NULL AS updated_at, NULL AS calls, NULL AS retries, NULL AS input_tokens,
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

const COLUMNS: usize = 20;

/// What a connection needs before anything is appended over it.
pub(in super::super) async fn prepare(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    connection.execute(TRIGGERS).await?;
    Ok(())
}

pub(super) async fn write(writer: &Writer, batches: &[&Batch]) -> Result<Fenced, Broken> {
    let statement = statement(batches).map_err(|failure| Broken::Refused(failure.into()))?;
    let Err(failure) = writer.alone(statement).await else {
        return Ok(Fenced(HashSet::new()));
    };
    match (failure.fault, batches) {
        (Fault::Fenced, [batch]) => Ok(Fenced([batch.id].into())),
        (Fault::Fenced, _) => Err(Broken::Refused(Refusal::Fenced)),
        (Fault::Taken, _) => Err(Broken::Refused(Refusal::Taken)),
        _ => Err(Broken::Failed(failure)),
    }
}

type Statement = Query<'static, Any, AnyArguments>;

fn statement(batches: &[&Batch]) -> Result<Statement, Failure> {
    let rows = batches.iter().map(|batch| batch.entries.len()).sum();
    // No word of a user is part of it: only parameters are counted up.
    let mut statement = sqlx::query(AssertSqlSafe(insertion(rows)));
    for batch in batches {
        let id = batch.id.to_string();
        for (index, keyed) in batch.entries.iter().enumerate() {
            statement = statement
                .bind(id.clone())
                .bind(signed(keyed.entry.seq))
                .bind(keyed.key.clone())
                .bind(signed(keyed.entry.at))
                .bind(kind(&keyed.entry.event))
                .bind(body(keyed)?);
            let first = (index == 0).then(|| (batch.epoch, batch.tally()));
            statement = bind_first(statement, first);
        }
    }
    Ok(statement)
}

fn insertion(rows: usize) -> String {
    let mut sql = String::from("INSERT INTO appending VALUES ");
    for row in 0..rows {
        let comma = if row == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(sql, "{comma}(?{})", ",?".repeat(COLUMNS - 1));
    }
    sql
}

fn bind_first(statement: Statement, first: Option<(i64, Tally)>) -> Statement {
    let tally = first.map(|(_, tally)| tally);
    let sum = |value: fn(&Tally) -> u64| tally.as_ref().map(value).map(signed);
    statement
        .bind(first.map(|(epoch, _)| epoch))
        .bind(tally.map(|tally| i64::from(tally.moves())))
        .bind(sum(|tally| tally.updated_at))
        .bind(sum(|tally| tally.calls))
        .bind(sum(|tally| tally.retries))
        .bind(sum(|tally| tally.usage.input))
        .bind(sum(|tally| tally.usage.output))
        .bind(sum(|tally| tally.usage.cached))
        .bind(tally.map(|tally| tally.cost.dollars()))
        .bind(tally.map(|tally| i64::from(tally.unknown_cost)))
        .bind(tally.and_then(|tally| tally.state).map(State::name))
        .bind(tally.and_then(|tally| tally.ended_at).map(signed))
        .bind(tally.and_then(|tally| tally.generation).map(i64::from))
        .bind(tally.and_then(|tally| tally.rating).map(i64::from))
}
