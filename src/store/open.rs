//! Opens the store: one process at a time runs migrations; a damaged database is moved aside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection, Executor, Row, SqlSafeStr};

use super::address::{Address, Url};
use super::appender::{self, Appender};
use super::dialect::Dialect;
use super::errors::{Failure, Fault, StoreError};
use super::flags;
use super::folder::Folder;
use super::location::{Location, Server};
use super::ownership::{self, Ownership};
use super::queue::Queue;
use super::writer::Writer;
use super::{SERVER_TIMEOUT, Store};

const MAX_READERS: u32 = 3;
const SQLITE: Dialect = Dialect::Sqlite;

impl Store {
    pub(crate) async fn at(address: &Address) -> Result<Self, StoreError> {
        match address {
            Address::Folder(folder) => Self::open(folder).await,
            Address::Server(url) => Self::connect(url).await,
        }
    }

    /// Opens an existing database on a server, empty or ours, and runs migrations.
    pub(super) async fn connect(url: &Url) -> Result<Self, StoreError> {
        let opened = open_server(url).await;
        opened
            .map_err(|refusal| refusal.at(url.to_string().into(), |failure| failure.at_server(url)))
    }

    /// Opens `roundtable.db` in `data_dir`; creates both if missing.
    pub(crate) async fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let folder = Folder::prepare(data_dir)?;
        let _opening = folder.lock_for_opening().await?;
        if folder.has_wal_without_database() {
            return Err(move_aside(&folder));
        }
        folder.create_database()?;
        let opened = open_file(&folder).await.map_err(|refusal| {
            refusal.at(folder.database(), |failure| {
                if failure.fault == Fault::Damaged {
                    move_aside(&folder)
                } else {
                    folder.report(failure)
                }
            })
        });
        let (writer, reader) = opened?;
        let writer = Arc::new(writer);
        Ok(Self {
            location: Arc::new(Location::Folder(folder)),
            appender: Arc::new(Appender::to_file(Arc::clone(&writer))),
            writer,
            reader,
        })
    }
}

fn move_aside(folder: &Folder) -> StoreError {
    match folder.set_aside() {
        Ok(kept_as) => StoreError::Corrupt { kept_as },
        Err(error) => error,
    }
}

/// Why a database cannot be used.
enum Refusal {
    Newer(i64),
    Foreign(i64),
    Failed(Failure),
}

impl Refusal {
    fn at(self, path: PathBuf, failed: impl FnOnce(Failure) -> StoreError) -> StoreError {
        match self {
            Self::Newer(version) => StoreError::Newer { path, version },
            Self::Foreign(version) => StoreError::Foreign { path, version },
            Self::Failed(failure) => failed(failure),
        }
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

async fn open_file(folder: &Folder) -> Result<(Writer, AnyPool), Refusal> {
    sqlx::any::install_default_drivers();
    let options = file_url(folder.database())
        .map_err(Refusal::Failed)?
        .parse::<AnyConnectOptions>()?
        .disable_statement_logging();
    // Not from a pool, which would hide the error and retry until it times out.
    let mut first = AnyConnection::connect_with(&options).await?;
    if let Err(refusal) = prepare(&mut first, folder).await {
        // The database may be renamed next, so close it first.
        let _ = first.close().await;
        return Err(refusal);
    }
    let reader = AnyPoolOptions::new()
        .max_connections(MAX_READERS)
        .max_lifetime(None)
        .idle_timeout(None)
        .test_before_acquire(false)
        .after_connect(|connection, _| SQLITE.configure(connection).boxed())
        .connect_lazy_with(options.clone());
    Ok((Writer::new(SQLITE, options, first), reader))
}

async fn open_server(url: &Url) -> Result<Store, Refusal> {
    sqlx::any::install_default_drivers();
    let options = url
        .expose()
        .parse::<AnyConnectOptions>()?
        .disable_statement_logging();
    let mut first = ownership::connect(&options)
        .await
        .map_err(Refusal::Failed)?;
    migrations(Dialect::Postgres)
        .run_direct(None, &mut first, false)
        .await
        .map_err(refusal)?;
    let reader = AnyPoolOptions::new()
        .max_connections(MAX_READERS)
        .acquire_timeout(SERVER_TIMEOUT)
        .after_connect(|connection, _| Dialect::Postgres.configure(connection).boxed())
        .connect_lazy_with(options.clone());
    Ok(Store {
        location: Arc::new(Location::Server(Box::new(Server {
            url: url.clone(),
            ownership: Ownership::new(options.clone()),
            queue: Queue::new(url)?,
        }))),
        writer: Arc::new(Writer::new(Dialect::Postgres, options.clone(), first)),
        appender: Arc::new(Appender::to_server(options)),
        reader,
    })
}

/// Runs migrations, and an integrity check if the database is suspect.
async fn prepare(connection: &mut AnyConnection, folder: &Folder) -> Result<(), Refusal> {
    SQLITE.configure(connection).await?;
    connection.execute("PRAGMA journal_mode = WAL").await?;
    if folder.is_suspect() {
        check(connection).await.map_err(Refusal::Failed)?;
        folder.clear_suspect();
    }
    // Migrations need not survive a power cut: they run again. The first append flushes them too.
    connection.execute("PRAGMA synchronous = NORMAL").await?;
    migrations(SQLITE)
        .run_direct(None, connection, false)
        .await
        .map_err(refusal)?;
    SQLITE.configure(connection).await?;
    if let Some(kept_as) = folder.moved_aside() {
        flags::mark_replacement(connection, kept_as)
            .await
            .map_err(Refusal::Failed)?;
        folder.clear_moved_aside();
    }
    appender::prepare(connection).await?;
    // Reads each table once, so that damage near the root is found now and not during a debate.
    for query in [
        "SELECT id FROM debates ORDER BY created_at DESC, id DESC LIMIT 1",
        "SELECT seq FROM journal LIMIT 1",
        "SELECT number FROM learning LIMIT 1",
    ] {
        connection.fetch_optional(query).await?;
    }
    Ok(())
}

async fn check(connection: &mut AnyConnection) -> Result<(), Failure> {
    let row = connection.fetch_one("PRAGMA integrity_check(1)").await?;
    let message: String = row.try_get(0)?;
    if message == "ok" {
        Ok(())
    } else {
        Err(Failure {
            fault: Fault::Damaged,
            detail: message,
        })
    }
}

/// Listed explicitly, so that a stray file in the folder is never run.
fn migrations(dialect: Dialect) -> Migrator {
    let migration = |version, name: &'static str, sql: &'static str| {
        let sql = sql.into_sql_str();
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    };
    Migrator::with_migrations(vec![
        migration(
            1,
            "debates and journal",
            include_str!("../../migrations/0001_debates_and_journal.sql"),
        ),
        migration(
            2,
            "serving",
            include_str!("../../migrations/0002_serving.sql"),
        ),
        migration(
            3,
            "learning",
            include_str!("../../migrations/0003_learning.sql"),
        ),
        migration(
            4,
            "owners",
            include_str!("../../migrations/0004_owners.sql"),
        ),
        migration(
            5,
            "access",
            include_str!("../../migrations/0005_access.sql"),
        ),
        migration(6, "ownership", ownership_migration(dialect)),
    ])
}

/// Triggers are the only part of a migration that differs between the databases.
const fn ownership_migration(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => concat!(
            include_str!("../../migrations/0006_ownership.sql"),
            include_str!("../../migrations/0006_append_only.sqlite.sql")
        ),
        Dialect::Postgres => concat!(
            include_str!("../../migrations/0006_ownership.sql"),
            include_str!("../../migrations/0006_append_only.postgres.sql")
        ),
    }
}

fn refusal(error: MigrateError) -> Refusal {
    match error {
        MigrateError::VersionMissing(version) => Refusal::Newer(version),
        MigrateError::VersionMismatch(version) => Refusal::Foreign(version),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        other => Refusal::Failed(Failure::other(other.to_string())),
    }
}

/// The file as a URL with every special character (`..`, `%`, `?`) percent-encoded.
fn file_url(database: PathBuf) -> Result<String, Failure> {
    let Ok(path) = database.into_os_string().into_string() else {
        let detail = "its path is not valid Unicode: choose another folder with --data";
        return Err(Failure::other(detail));
    };
    let path = utf8_percent_encode(&path, NON_ALPHANUMERIC);
    Ok(format!("sqlite:{path}?mode=rw"))
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
