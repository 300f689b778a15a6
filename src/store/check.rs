//! The integrity check: the database's own check, every journal against its checksums, and every debate's row against its
//! journal.

use roundtable_engine::event::{Entry, Event};
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Executor, Row};

use super::chain::{Link, Origin};
use super::dialect::Dialect;
use super::errors::{Failure, Fault, StoreError};
use super::row::{DebateRow, Totals, select_debates};
use super::row_delta::{RowDelta, kind};
use super::transfer::{Content, content_of_all};
use super::{Store, unsigned};

/// The result of an integrity check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CheckReport {
    pub debates: u64,
    pub entries: u64,
    /// Entries of versions without checksums. A change within their texts is not found.
    pub without_checksum: u64,
    /// A message for every problem found.
    pub faults: Vec<String>,
    /// Equal stores have equal contents. Empty if there are faults.
    pub tables: Vec<Content>,
}

impl Store {
    /// Reads everything, also while debates are running.
    pub(crate) async fn check(&self) -> Result<CheckReport, StoreError> {
        let checked = async {
            let mut connection = self.reader.acquire().await?;
            check(&mut connection, self.writer.dialect()).await
        };
        self.run(checked).await
    }
}

/// Checks one snapshot, because rows and journals change together.
pub(super) async fn check(
    connection: &mut AnyConnection,
    dialect: Dialect,
) -> Result<CheckReport, Failure> {
    connection.execute(dialect.begin_read()).await?;
    let checked = check_snapshot(connection, dialect).await;
    connection.execute("ROLLBACK").await?;
    checked
}

async fn check_snapshot(
    connection: &mut AnyConnection,
    dialect: Dialect,
) -> Result<CheckReport, Failure> {
    let mut report = CheckReport::default();
    if dialect == Dialect::Sqlite {
        report.faults = check_file(connection).await?;
    }
    for id in ids(connection, dialect).await? {
        report.debates += 1;
        match check_debate(connection, dialect, &id).await {
            Ok(found) => {
                let named = |fault: String| format!("debate {id}: {fault}");
                report.faults.extend(found.faults.into_iter().map(named));
                report.entries += found.entries;
                report.without_checksum += found.without_checksum;
            }
            // A value that cannot be decoded must not end the check of the other debates.
            Err(failure)
                if failure.fault == Fault::Damaged || failure.fault == Fault::Unreadable =>
            {
                report
                    .faults
                    .push(format!("debate {id}: {}", failure.detail));
            }
            Err(failure) => return Err(failure),
        }
    }
    if report.faults.is_empty() {
        report.tables = content_of_all(connection, dialect).await?;
    }
    Ok(report)
}

async fn check_file(connection: &mut AnyConnection) -> Result<Vec<String>, Failure> {
    let mut faults = Vec::new();
    for row in connection.fetch_all("PRAGMA integrity_check(20)").await? {
        let message: String = row.try_get(0)?;
        if message != "ok" {
            faults.push(message);
        }
    }
    let orphans = connection.fetch_all("PRAGMA foreign_key_check").await?;
    if !orphans.is_empty() {
        let count = orphans.len();
        faults.push(format!("{count} rows belong to debates that do not exist"));
    }
    Ok(faults)
}

async fn ids(connection: &mut AnyConnection, dialect: Dialect) -> Result<Vec<String>, Failure> {
    let sql = format!(
        "SELECT {} FROM debates ORDER BY created_at, debates.id",
        dialect.bytes_of("id")
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await?;
    let read = |row: &AnyRow| Ok(lossy(row.try_get("id")?));
    rows.iter().map(read).collect()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The result of checking one debate.
#[derive(Default)]
pub(super) struct Found {
    pub(super) entries: u64,
    pub(super) without_checksum: u64,
    /// Those after an entry with a checksum. Each is a fault too.
    pub(super) late_without_checksum: u64,
    pub(super) faults: Vec<String>,
    /// The checksum that each entry would have in a chain without gaps, by number.
    pub(super) checksums: Vec<(i64, String)>,
}

/// A chain of checksums that is being followed.
struct Chain {
    origin: String,
    /// The last stored checksum; `None` before the first one.
    last: Option<String>,
}

impl Chain {
    /// The fault in the checksum of an entry.
    fn follow(&mut self, link: &Link<'_>, stored: Option<String>) -> Option<&'static str> {
        let Some(stored) = stored else {
            return self.last.is_some().then_some(
                "has no checksum, but an earlier entry has: it was inserted, or an older version wrote it after a newer one",
            );
        };
        let fault = match &self.last {
            Some(last) => {
                (link.checksum(last) != stored).then_some("does not match its checksum")
            }
            // A debate that was created by a version without checksums has no origin.
            None => [self.origin.as_str(), ""]
                .iter()
                .all(|first| link.checksum(first) != stored)
                .then_some(
                    "does not match its checksum, which also covers the debate's protocol, question, setup and time of creation",
                ),
        };
        self.last = Some(stored);
        fault
    }
}

/// Checks that the journal has no gap, matches its checksums and can be parsed, and that the row matches it.
pub(super) async fn check_debate(
    connection: &mut AnyConnection,
    dialect: Dialect,
    id: &str,
) -> Result<Found, Failure> {
    let mut found = Found::default();
    let row = origin_row(connection, dialect, id).await?;
    let origin = origin(id, &row)?;
    let mut chain = Chain {
        origin: origin.clone(),
        last: None,
    };
    let mut complete = origin;
    let mut entries = Vec::new();
    for (index, row) in journal(connection, dialect, id).await?.iter().enumerate() {
        let seq: i64 = row.try_get("seq")?;
        if unsigned(seq) != index as u64 + 1 {
            let missing = index + 1;
            let fault = format!("entry {missing} is missing; the next is {seq}");
            found.faults.push(fault);
            return Ok(found);
        }
        let link = Link {
            debate: id,
            seq,
            key: row.try_get("key")?,
            at: row.try_get("at")?,
            kind: row.try_get("kind")?,
            body: row.try_get("body")?,
        };
        let name = format!("entry {seq} ({})", lossy(link.key));
        let stored: Option<&[u8]> = row.try_get("checksum")?;
        found.entries += 1;
        if stored.is_none() {
            found.without_checksum += 1;
            found.late_without_checksum += u64::from(chain.last.is_some());
        }
        complete = link.checksum(&complete);
        found.checksums.push((seq, complete.clone()));
        if let Some(fault) = chain.follow(&link, stored.map(lossy)) {
            found.faults.push(format!("{name} {fault}"));
        }
        let event: Event = match serde_json::from_slice(link.body) {
            Ok(event) => event,
            Err(error) => {
                found.faults.push(format!("{name} cannot be read: {error}"));
                return Ok(found);
            }
        };
        if kind(&event).as_bytes() != link.kind {
            found
                .faults
                .push(format!("{name} has the wrong kind in its row"));
        }
        entries.push(Entry {
            seq: unsigned(seq),
            at: unsigned(link.at),
            event,
        });
    }
    let head = lossy(row.try_get("chain")?);
    let is_head = match &chain.last {
        Some(last) => head == *last,
        None => head.is_empty() || head == chain.origin,
    };
    if !is_head {
        found.faults.push(
            "its row has the checksum of another last entry: entries were removed from its end, or its row was changed"
                .to_owned(),
        );
    }
    let row = sqlx::query(select_debates!("WHERE id = $1"))
        .bind(id.to_owned())
        .fetch_one(connection)
        .await?;
    compare(
        &DebateRow::read(&row)?,
        &RowDelta::of(&entries),
        &mut found.faults,
    );
    Ok(found)
}

async fn origin_row(
    connection: &mut AnyConnection,
    dialect: Dialect,
    id: &str,
) -> Result<AnyRow, Failure> {
    let columns = ["protocol", "question", "setup", "chain"].map(|column| dialect.bytes_of(column));
    let sql = format!(
        "SELECT created_at, {} FROM debates WHERE id = $1",
        columns.join(", ")
    );
    let row = sqlx::query(AssertSqlSafe(sql)).bind(id.to_owned());
    Ok(row.fetch_one(connection).await?)
}

fn origin(id: &str, row: &AnyRow) -> Result<String, Failure> {
    let origin = Origin {
        id,
        protocol: row.try_get("protocol")?,
        created_at: row.try_get("created_at")?,
        question: row.try_get("question")?,
        setup: row.try_get("setup")?,
    };
    Ok(origin.checksum())
}

async fn journal(
    connection: &mut AnyConnection,
    dialect: Dialect,
    id: &str,
) -> Result<Vec<AnyRow>, Failure> {
    let columns = ["key", "kind", "body", "checksum"].map(|column| dialect.bytes_of(column));
    let sql = format!(
        "SELECT seq, at, {} FROM journal WHERE debate_id = $1 ORDER BY seq",
        columns.join(", ")
    );
    let rows = sqlx::query(AssertSqlSafe(sql)).bind(id.to_owned());
    Ok(rows.fetch_all(connection).await?)
}

/// Compares the columns that repeat what is in the journal.
fn compare(row: &DebateRow, delta: &RowDelta, faults: &mut Vec<String>) {
    let expected = Totals {
        calls: delta.calls,
        retries: delta.retries,
        input_tokens: delta.usage.input,
        output_tokens: delta.usage.output,
        cached_tokens: delta.usage.cached,
        // The database adds in floating point, so its sum may differ in the last digit.
        cost_usd: row.totals.cost_usd,
    };
    if expected != row.totals {
        faults.push("its totals do not match its journal".to_owned());
    }
    if delta.rating != row.rating {
        faults.push("its rating does not match its journal".to_owned());
    }
    if delta
        .state
        .is_some_and(|state| state != row.state && row.ended_at.is_some())
    {
        faults.push(format!(
            "its state {} does not match its journal",
            row.state.name()
        ));
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
