//! Maintenance: finding old debates, and online backup.

use std::fs;
use std::io;
use std::path::Path;

use roundtable_engine::event::Millis;
use sqlx::any::{AnyConnectOptions, AnyRow};
use sqlx::{AnyConnection, Connection, Row};
use uuid::Uuid;

use super::check::check;
use super::dialect::Dialect;
use super::errors::{Failure, StoreError};
use super::folder::{private, sync};
use super::location::Location;
use super::open::file_url;
use super::row::parse_id;
use super::{Store, signed};

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
    #[error(
        "the backup {file} was written, but has errors: {}. `roundtable db check` shows those of the store; restore an earlier backup \
         if the store has them too",
        faults.join("; ")
    )]
    Damaged { file: String, faults: Vec<String> },
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

    /// Writes a consistent snapshot to a new file while the store is in use, and checks it. Returns its size.
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
        let size = size.map_err(|source| {
            let file = name.clone();
            BackupError::Unwritable { file, source }
        })?;
        let faults = self.run(faults_in(file)).await?;
        if faults.is_empty() {
            Ok(size)
        } else {
            Err(BackupError::Damaged { file: name, faults })
        }
    }
}

/// Reads a backup completely.
async fn faults_in(file: &Path) -> Result<Vec<String>, Failure> {
    let options: AnyConnectOptions = file_url(file.to_path_buf())?.parse()?;
    let mut connection = AnyConnection::connect_with(&options).await?;
    let report = check(&mut connection, Dialect::Sqlite).await;
    connection.close().await?;
    Ok(report?.faults)
}

/// Accessible only to the user, as the store is.
fn create_private(file: &Path) -> io::Result<()> {
    private().create_new(true).open(file).map(drop)
}

#[cfg(test)]
#[path = "maintenance_tests.rs"]
mod tests;
