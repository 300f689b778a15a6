//! Copies a whole store to another, on either database.
//!
//! Guarantees: the copy is one transaction from one snapshot, and it is committed only if every table, read back, has the same
//! number of rows and the same hash.

use std::fmt::Write;

use futures::TryStreamExt;
use roundtable_core::hex;
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Executor, Row};

use super::Store;
use super::dialect::Dialect;
use super::errors::{Failure, StoreError};
use super::flags;

/// The number of rows in one INSERT.
const MAX_ROWS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Real,
}

/// A table to copy; parents come before children.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, Kind)],
    /// The primary key: texts first, then at most one number.
    key: &'static [&'static str],
}

use Kind::{Number, Real, Text};

/// Not copied: `owners`, the owner of a debate, and `orders`, because nothing is leased in a copy; `server_flags`, of which only
/// the one about tokens concerns a copy; `test_calls`, which count for an hour; and `compatibility`, which belongs to the schema.
pub(super) const TABLES: [Table; 13] = [
    Table {
        name: "debates",
        columns: &[
            ("id", Text),
            ("protocol", Text),
            ("state", Text),
            ("epoch", Number),
            ("generation", Number),
            ("created_at", Number),
            ("updated_at", Number),
            ("ended_at", Number),
            ("calls", Number),
            ("retries", Number),
            ("input_tokens", Number),
            ("output_tokens", Number),
            ("cached_tokens", Number),
            ("cost_usd", Real),
            ("cost_known", Number),
            ("rating", Number),
            ("question", Text),
            ("setup", Text),
            ("served", Number),
            ("budget", Text),
            ("chain", Text),
            ("token_id", Text),
            ("parent_id", Text),
        ],
        key: &["id"],
    },
    Table {
        name: "journal",
        columns: &[
            ("debate_id", Text),
            ("seq", Number),
            ("key", Text),
            ("at", Number),
            ("kind", Text),
            ("body", Text),
            ("checksum", Text),
        ],
        key: &["debate_id", "seq"],
    },
    Table {
        name: "tokens",
        columns: &[
            ("id", Text),
            ("name", Text),
            ("scope", Text),
            ("hash", Text),
            ("created_at", Number),
            ("expires_at", Number),
            ("last_used_at", Number),
            ("old_hash", Text),
            ("old_valid_until", Number),
            ("reach", Text),
            ("limits", Text),
        ],
        key: &["id"],
    },
    Table {
        name: "requests",
        columns: &[
            ("key", Text),
            ("fingerprint", Text),
            ("debate_id", Text),
            ("created_at", Number),
        ],
        key: &["key"],
    },
    Table {
        name: "sessions",
        columns: &[
            ("hash", Text),
            ("token_id", Text),
            ("expires_at", Number),
            ("created_at", Number),
            ("last_used_at", Number),
        ],
        key: &["hash"],
    },
    Table {
        name: "shares",
        columns: &[
            ("id", Text),
            ("debate_id", Text),
            ("hash", Text),
            ("made_by", Text),
            ("created_at", Number),
            ("expires_at", Number),
        ],
        key: &["id"],
    },
    Table {
        name: "pins",
        columns: &[("debate_id", Text)],
        key: &["debate_id"],
    },
    Table {
        name: "tags",
        columns: &[("debate_id", Text), ("tag", Text)],
        key: &["debate_id", "tag"],
    },
    Table {
        name: "questions",
        columns: &[
            ("set_name", Text),
            ("id", Text),
            ("place", Number),
            ("body", Text),
        ],
        key: &["set_name", "id"],
    },
    Table {
        name: "question_forecasts",
        columns: &[
            ("set_name", Text),
            ("question_id", Text),
            ("number", Number),
            ("debate_id", Text),
        ],
        key: &["set_name", "question_id", "number"],
    },
    Table {
        name: "learning",
        columns: &[
            ("number", Number),
            ("at", Number),
            ("domain", Text),
            ("kind", Text),
            ("body", Text),
        ],
        key: &["number"],
    },
    Table {
        name: "other_costs",
        columns: &[
            ("id", Text),
            ("token_id", Text),
            ("at", Number),
            ("cost_usd", Real),
        ],
        key: &["id"],
    },
    Table {
        name: "audit_log",
        columns: &[
            ("number", Number),
            ("at", Number),
            ("who", Text),
            ("via", Text),
            ("action", Text),
            ("subject", Text),
            ("outcome", Text),
            ("address", Text),
            ("request_id", Text),
            ("detail", Text),
        ],
        key: &["number"],
    },
];

/// The row count and hash of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Content {
    pub table: &'static str,
    pub rows: u64,
    /// SHA-256 of all its rows in the order of their keys.
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CopyError {
    #[error(
        "{location} already has {rows} rows in '{table}'; copy into an empty folder or database"
    )]
    NotEmpty {
        location: String,
        table: &'static str,
        rows: u64,
    },
    #[error(
        "the copy of '{table}' differs from the source ({copied} of {sent} rows, or other content); it was rolled back"
    )]
    Differs {
        table: &'static str,
        sent: u64,
        copied: u64,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Real(Option<f64>),
}

impl Store {
    /// The content of every table, from one snapshot.
    pub(crate) async fn content(&self) -> Result<Vec<Content>, StoreError> {
        let read = async {
            let mut connection = self.reader.acquire().await?;
            let dialect = self.writer.dialect();
            connection.execute(dialect.begin_read()).await?;
            let all = content_of_all(&mut connection, dialect).await?;
            connection.execute("COMMIT").await?;
            Ok(all)
        };
        self.run(read).await
    }

    /// Copies everything into `other`, which must be empty.
    pub(crate) async fn copy_into(&self, other: &Self) -> Result<Vec<Content>, CopyError> {
        for content in other.content().await? {
            if content.rows > 0 {
                return Err(CopyError::NotEmpty {
                    location: other.location(),
                    table: content.table,
                    rows: content.rows,
                });
            }
        }
        let source_error = |error: sqlx::Error| self.failed(error);
        let mut source = self.reader.acquire().await.map_err(source_error)?;
        source
            .execute(self.writer.dialect().begin_read())
            .await
            .map_err(source_error)?;
        let had_tokens = self.had_tokens().await?;
        let mut transaction = other.run(other.writer.begin()).await?;
        if had_tokens {
            let flag = flags::set(flags::TOKEN_ADDED, String::new());
            let set = flag.execute(transaction.connection()).await;
            set.map_err(|error| other.failed(error))?;
        }
        let mut sent = Vec::new();
        for table in &TABLES {
            let content = self.copy_table(&mut source, other, transaction.connection(), table);
            sent.push(content.await?);
        }
        for (table, sent) in TABLES.iter().zip(&sent) {
            let copied = content(transaction.connection(), other.writer.dialect(), table);
            let copied = other.run(copied).await?;
            if *sent != copied {
                // Dropping the transaction rolls it back.
                return Err(CopyError::Differs {
                    table: table.name,
                    sent: sent.rows,
                    copied: copied.rows,
                });
            }
        }
        other.run(transaction.finish(Ok(()))).await?;
        source.execute("COMMIT").await.map_err(source_error)?;
        Ok(sent)
    }

    async fn copy_table(
        &self,
        source: &mut AnyConnection,
        other: &Self,
        target: &mut AnyConnection,
        table: &Table,
    ) -> Result<Content, CopyError> {
        let mut hash = TableHash::of(table);
        let mut pending = Vec::new();
        let sql = select(self.writer.dialect(), table);
        let mut rows = sqlx::query(AssertSqlSafe(sql)).fetch(source);
        loop {
            let row = rows.try_next().await;
            let Some(row) = row.map_err(|error| self.failed(error))? else {
                break;
            };
            let values = values(table, &row).map_err(|failure| self.failed(failure))?;
            hash.add(&values);
            pending.push(values);
            if pending.len() == MAX_ROWS {
                let full = std::mem::take(&mut pending);
                other.run(insert(target, table, full)).await?;
            }
        }
        other.run(insert(target, table, pending)).await?;
        Ok(hash.finish())
    }
}

/// The caller has begun a transaction.
pub(super) async fn content_of_all(
    connection: &mut AnyConnection,
    dialect: Dialect,
) -> Result<Vec<Content>, Failure> {
    let mut all = Vec::new();
    for table in &TABLES {
        all.push(content(connection, dialect, table).await?);
    }
    Ok(all)
}

async fn content(
    connection: &mut AnyConnection,
    dialect: Dialect,
    table: &Table,
) -> Result<Content, Failure> {
    let mut hash = TableHash::of(table);
    let mut rows = sqlx::query(AssertSqlSafe(select(dialect, table))).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        hash.add(&values(table, &row)?);
    }
    Ok(hash.finish())
}

fn select(dialect: Dialect, table: &Table) -> String {
    let order: Vec<String> = table
        .key
        .iter()
        .map(
            |key| match table.columns.iter().find(|(name, _)| name == key) {
                Some((_, Text)) => format!("{key} {}", dialect.by_bytes()),
                Some((_, Number | Real)) | None => (*key).to_owned(),
            },
        )
        .collect();
    format!(
        "SELECT {} FROM {} ORDER BY {}",
        names(table),
        table.name,
        order.join(", ")
    )
}

fn names(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

fn values(table: &Table, row: &AnyRow) -> Result<Vec<Value>, Failure> {
    let read = |(name, kind): &(&'static str, Kind)| -> Result<Value, Failure> {
        Ok(match kind {
            // PostgreSQL does not accept NUL in text.
            Text => Value::Text(
                row.try_get::<Option<String>, _>(*name)?
                    .map(|text| text.replace('\0', "\u{fffd}")),
            ),
            Number => Value::Number(row.try_get(*name)?),
            Real => Value::Real(row.try_get(*name)?),
        })
    };
    table.columns.iter().map(read).collect()
}

async fn insert(
    connection: &mut AnyConnection,
    table: &Table,
    rows: Vec<Vec<Value>>,
) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut sql = format!("INSERT INTO {} ({}) VALUES ", table.name, names(table));
    let mut number = 0;
    for row in 0..rows.len() {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..table.columns.len() {
            number += 1;
            let comma = if column == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(sql, "{comma}${number}");
        }
        sql.push(')');
    }
    // The SQL consists of our own names and parameter numbers.
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for value in rows.into_iter().flatten() {
        query = match value {
            Value::Text(text) => query.bind(text),
            Value::Number(number) => query.bind(number),
            Value::Real(real) => query.bind(real),
        };
    }
    query.execute(connection).await?;
    Ok(())
}

/// Counts and hashes rows. Texts are prefixed with their length, so that different rows never hash the same bytes.
struct TableHash {
    table: &'static str,
    rows: u64,
    hash: Sha256,
}

impl TableHash {
    fn of(table: &Table) -> Self {
        Self {
            table: table.name,
            rows: 0,
            hash: Sha256::new(),
        }
    }

    fn add(&mut self, values: &[Value]) {
        self.rows += 1;
        for value in values {
            match value {
                Value::Text(Some(text)) => {
                    self.hash.update([1]);
                    self.hash.update((text.len() as u64).to_le_bytes());
                    self.hash.update(text.as_bytes());
                }
                Value::Number(Some(number)) => {
                    self.hash.update([2]);
                    self.hash.update(number.to_le_bytes());
                }
                Value::Real(Some(real)) => {
                    self.hash.update([3]);
                    self.hash.update(real.to_bits().to_le_bytes());
                }
                Value::Text(None) | Value::Number(None) | Value::Real(None) => {
                    self.hash.update([0]);
                }
            }
        }
    }

    fn finish(self) -> Content {
        Content {
            table: self.table,
            rows: self.rows,
            sha256: hex::encode(self.hash.finalize()),
        }
    }
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
