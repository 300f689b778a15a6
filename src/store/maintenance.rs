//! Looking after a store: is it sound, what is old in it, and a copy of its file while it is in use.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use futures::TryStreamExt;
use roundtable_engine::event::{Entry, Event, Millis};
use serde::Serialize;
use sqlx::{Executor, Row};
use uuid::Uuid;

use super::dialect::Dialect;
use super::errors::{Failure, StoreError};
use super::location::Home;
use super::row::{DebateRow, Totals, parse_id, select_debates};
use super::row_delta::{Tally, kind};
use super::{Store, signed, unsigned};

/// What looking closely at a store has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Soundness {
    pub debates: u64,
    pub entries: u64,
    /// Everything that is not as it should be, in words.
    pub faults: Vec<String>,
}

/// Which debates are to be kept although they are old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// What somebody has rated, or has said of what happened.
    Rated,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    #[error("{0} is there already, and is not overwritten; name another file")]
    Exists(String),
    #[error(
        "this store is a database on a server, which has its own way: pg_dump --format=custom --file={file} '{database}' \
         (and pg_restore to get it back)"
    )]
    OnServer { file: String, database: String },
    #[error("cannot write {file}: {source}")]
    Unwritable { file: String, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Where it is, for people.
    pub(crate) fn location(&self) -> String {
        match &*self.home {
            Home::Folder(folder) => folder.database().display().to_string(),
            Home::Server(server) => server.url.to_string(),
        }
    }

    /// The last change of its structure that this program knows; opening a store brings it there.
    pub(crate) async fn version(&self) -> Result<u64, StoreError> {
        let row = sqlx::query("SELECT MAX(version) AS version FROM _sqlx_migrations")
            .fetch_one(&self.reader)
            .await;
        row.and_then(|row| row.try_get::<i64, _>("version"))
            .map(unsigned)
            .map_err(|error| self.failed(error.into()))
    }

    /// Reads everything and holds it against what it should be.
    pub(crate) async fn check(&self) -> Result<Soundness, StoreError> {
        let checked = async {
            let mut found = Soundness {
                debates: 0,
                entries: 0,
                faults: Vec::new(),
            };
            if self.writer.dialect() == Dialect::Sqlite {
                for row in self.reader.fetch_all("PRAGMA integrity_check(20)").await? {
                    let said: String = row.try_get(0)?;
                    if said != "ok" {
                        found.faults.push(said);
                    }
                }
                let orphans = self.reader.fetch_all("PRAGMA foreign_key_check").await?;
                if !orphans.is_empty() {
                    let count = orphans.len();
                    found
                        .faults
                        .push(format!("{count} rows belong to debates that are not there"));
                }
            }
            let mut rows =
                sqlx::query(select_debates!("ORDER BY created_at, id")).fetch(&self.reader);
            let mut debates = Vec::new();
            while let Some(row) = rows.try_next().await? {
                match DebateRow::read(&row) {
                    Ok(row) => debates.push(row),
                    Err(failure) => found.faults.push(failure.detail),
                }
            }
            drop(rows);
            for row in debates {
                found.debates += 1;
                self.check_debate(&row, &mut found).await?;
            }
            Ok::<_, Failure>(found)
        };
        checked.await.map_err(|failure| self.failed(failure))
    }

    /// The journal has no gap and can be read, and the row says what it says.
    async fn check_debate(&self, row: &DebateRow, found: &mut Soundness) -> Result<(), Failure> {
        let mut fault = |what: String| found.faults.push(format!("debate {}: {what}", row.id));
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
                fault(format!("entry {seq} is not of the kind that its row says"));
            }
            entries.push(Entry {
                seq,
                at: unsigned(row.try_get("at")?),
                event,
            });
        }
        let tally = Tally::of(&entries);
        let told = Totals {
            calls: tally.calls,
            retries: tally.retries,
            input_tokens: tally.usage.input,
            output_tokens: tally.usage.output,
            cached_tokens: tally.usage.cached,
            // Sums of the database differ in the last digit from those made here.
            cost_usd: row.totals.cost_usd,
        };
        if told != row.totals {
            fault("its totals are not those of its journal".to_owned());
        }
        if tally
            .state
            .is_some_and(|state| state != row.state && row.ended_at.is_some())
        {
            fault(format!(
                "it is {} although its journal says otherwise",
                row.state.name()
            ));
        }
        found.entries += entries.len() as u64;
        Ok(())
    }

    /// Debates that were last changed before this time, oldest first.
    pub(crate) async fn older_than(
        &self,
        cutoff: Millis,
        keep: Keep,
    ) -> Result<Vec<(Uuid, String)>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, question FROM debates WHERE updated_at < $1 AND ($2 = 0 OR (rating IS NULL \
             AND id NOT IN (SELECT debate_id FROM journal WHERE kind = 'resolved'))) ORDER BY updated_at, id",
        )
        .bind(signed(cutoff))
        .bind(i64::from(keep == Keep::Rated))
        .fetch_all(&self.reader)
        .await;
        rows.map_err(Failure::from)
            .and_then(|rows| {
                let read = |row: &sqlx::any::AnyRow| {
                    Ok((parse_id(row.try_get("id")?)?, row.try_get("question")?))
                };
                rows.iter().map(read).collect()
            })
            .map_err(|failure| self.failed(failure))
    }

    /// Writes the store as it is at this moment into a file of its own, while others go on using it.
    pub(crate) async fn back_up(&self, file: &Path) -> Result<u64, BackupError> {
        let name = file.display().to_string();
        if let Home::Server(server) = &*self.home {
            return Err(BackupError::OnServer {
                file: name,
                database: server.url.to_string(),
            });
        }
        make_empty(file).map_err(|source| {
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
            Ok(_) => keep(file),
            Err(error) => {
                let _ = fs::remove_file(file);
                return Err(self.failed(error.into()).into());
            }
        };
        size.map_err(|source| BackupError::Unwritable { file: name, source })
    }
}

/// For the user alone: it holds everything that the store does.
fn make_empty(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}

/// A backup counts only when the disk has it.
fn keep(file: &Path) -> io::Result<u64> {
    let file = File::open(file)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

#[cfg(test)]
#[path = "maintenance_tests.rs"]
mod tests;
