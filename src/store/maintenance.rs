//! Maintenance: integrity check, finding old debates, and online backup.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use futures::TryStreamExt;
use roundtable_engine::event::{Entry, Event, Millis};
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{Executor, Row};
use uuid::Uuid;

use super::dialect::Dialect;
use super::errors::{Failure, StoreError};
use super::folder::private;
use super::location::Location;
use super::row::{DebateRow, Totals, parse_id, select_debates};
use super::row_delta::{RowDelta, kind};
use super::{Store, signed, unsigned};

/// The result of an integrity check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CheckReport {
    pub debates: u64,
    pub entries: u64,
    /// A message for every problem found.
    pub faults: Vec<String>,
}

/// Which old debates to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// Debates that were rated or resolved.
    Rated,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    #[error("{0} already exists and is not overwritten; choose another file")]
    Exists(String),
    #[error(
        "this store is a PostgreSQL database; back it up with pg_dump --format=custom --file={file} '{database}' \
         and restore it with pg_restore"
    )]
    OnServer { file: String, database: String },
    #[error("cannot write {file}: {source}")]
    Unwritable { file: String, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// The path or URL, for messages.
    pub(crate) fn location(&self) -> String {
        match &*self.location {
            Location::Folder(folder) => folder.database().display().to_string(),
            Location::Server(server) => server.url.to_string(),
        }
    }

    /// The version of the last migration. Opening a store runs all migrations.
    pub(crate) async fn version(&self) -> Result<u64, StoreError> {
        let query = sqlx::query("SELECT MAX(version) AS version FROM _sqlx_migrations");
        self.read_number(query).await
    }

    /// Reads everything and compares each debate's row with its journal.
    pub(crate) async fn check(&self) -> Result<CheckReport, StoreError> {
        let checked = async {
            let mut report = CheckReport {
                debates: 0,
                entries: 0,
                faults: Vec::new(),
            };
            if self.writer.dialect() == Dialect::Sqlite {
                for row in self.reader.fetch_all("PRAGMA integrity_check(20)").await? {
                    let message: String = row.try_get(0)?;
                    if message != "ok" {
                        report.faults.push(message);
                    }
                }
                let orphans = self.reader.fetch_all("PRAGMA foreign_key_check").await?;
                if !orphans.is_empty() {
                    let count = orphans.len();
                    report
                        .faults
                        .push(format!("{count} rows belong to debates that do not exist"));
                }
            }
            let mut rows =
                sqlx::query(select_debates!("ORDER BY created_at, id")).fetch(&self.reader);
            let mut debates = Vec::new();
            while let Some(row) = rows.try_next().await? {
                match DebateRow::read(&row) {
                    Ok(row) => debates.push(row),
                    Err(failure) => report.faults.push(failure.detail),
                }
            }
            drop(rows);
            for row in debates {
                report.debates += 1;
                self.check_debate(&row, &mut report).await?;
            }
            Ok(report)
        };
        self.run(checked).await
    }

    /// Checks that the journal has no gap and can be parsed, and that the row matches it.
    async fn check_debate(&self, row: &DebateRow, report: &mut CheckReport) -> Result<(), Failure> {
        let mut fault = |what: String| report.faults.push(format!("debate {}: {what}", row.id));
        let rows = sqlx::query(
            "SELECT seq, at, kind, body FROM journal WHERE debate_id = $1 ORDER BY seq",
        )
        .bind(row.id.to_string())
        .fetch_all(&self.reader)
        .await?;
        let mut entries = Vec::with_capacity(rows.len());
        for (index, row) in rows.iter().enumerate() {
            let seq = unsigned(row.try_get("seq")?);
            if seq != index as u64 + 1 {
                fault(format!("entry {} is missing; the next is {seq}", index + 1));
                return Ok(());
            }
            let event: Event = match serde_json::from_str(row.try_get("body")?) {
                Ok(event) => event,
                Err(error) => {
                    fault(format!("entry {seq} cannot be read: {error}"));
                    return Ok(());
                }
            };
            if kind(&event) != row.try_get::<String, _>("kind")? {
                fault(format!("entry {seq} has the wrong kind in its row"));
            }
            entries.push(Entry {
                seq,
                at: unsigned(row.try_get("at")?),
                event,
            });
        }
        let delta = RowDelta::of(&entries);
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
            fault("its totals do not match its journal".to_owned());
        }
        if delta
            .state
            .is_some_and(|state| state != row.state && row.ended_at.is_some())
        {
            fault(format!(
                "its state {} does not match its journal",
                row.state.name()
            ));
        }
        report.entries += entries.len() as u64;
        Ok(())
    }

    /// Debates last changed before `cutoff`, oldest first.
    pub(crate) async fn older_than(
        &self,
        cutoff: Millis,
        keep: Keep,
    ) -> Result<Vec<(Uuid, String)>, StoreError> {
        let query = sqlx::query(
            "SELECT id, question FROM debates WHERE updated_at < $1 AND ($2 = 0 OR (rating IS NULL \
             AND id NOT IN (SELECT debate_id FROM journal WHERE kind = 'resolved'))) ORDER BY updated_at, id",
        )
        .bind(signed(cutoff))
        .bind(i64::from(keep == Keep::Rated));
        let read = |row: &AnyRow| Ok((parse_id(row.try_get("id")?)?, row.try_get("question")?));
        self.read_all(query, read).await
    }

    /// Writes a consistent snapshot to a new file while the store is in use. Returns its size.
    pub(crate) async fn back_up(&self, file: &Path) -> Result<u64, BackupError> {
        let name = file.display().to_string();
        if let Location::Server(server) = &*self.location {
            return Err(BackupError::OnServer {
                file: name,
                database: server.url.to_string(),
            });
        }
        create_private(file).map_err(|source| {
            let file = name.clone();
            if source.kind() == io::ErrorKind::AlreadyExists {
                BackupError::Exists(file)
            } else {
                BackupError::Unwritable { file, source }
            }
        })?;
        let written = sqlx::query("VACUUM INTO $1")
            .bind(name.clone())
            .execute(&self.reader)
            .await;
        let size = match written {
            Ok(_) => sync(file),
            Err(error) => {
                let _ = fs::remove_file(file);
                return Err(self.failed(error).into());
            }
        };
        size.map_err(|source| BackupError::Unwritable { file: name, source })
    }
}

/// Accessible only to the user, as the store is.
fn create_private(file: &Path) -> io::Result<()> {
    private().create_new(true).open(file).map(drop)
}

/// Flushes the backup to disk and returns its size.
fn sync(file: &Path) -> io::Result<u64> {
    let file = File::open(file)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

#[cfg(test)]
#[path = "maintenance_tests.rs"]
mod tests;
