//! Opens the store; a damaged database is moved aside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection, Executor, Row};

use super::address::{Address, Url};
use super::appender::{self, Appender};
use super::dialect::{Dialect, STATEMENT_TIMEOUT};
use super::errors::{Failure, Fault, StoreError};
use super::file_readers::FileReaders;
use super::flags;
use super::folder::{Folder, sync};
use super::location::{Location, Server};
use super::ownership::{self, Ownership};
use super::queue::Queue;
use super::schema::{Permission, Refusal, Schema, State};
use super::writer::Writer;
use super::{SERVER_TIMEOUT, Store};

const MAX_READERS: u32 = 3;
const SQLITE: Dialect = Dialect::Sqlite;

impl Store {
    /// Opens a store. A data folder is migrated; a database on a server only if it is empty.
    pub(crate) async fn at(address: &Address) -> Result<Self, StoreError> {
        match address {
            Address::Folder(folder) => Self::open(folder).await,
            Address::Server(url) => Self::connect(url, Permission::CreateOnly).await,
        }
    }

    /// Opens a store and runs migrations.
    pub(crate) async fn migrate(address: &Address) -> Result<Self, StoreError> {
        match address {
            Address::Folder(folder) => Self::open(folder).await,
            Address::Server(url) => Self::connect(url, Permission::Migrate).await,
        }
    }

    /// Opens an existing database on a server, empty or ours.
    async fn connect(url: &Url, permission: Permission) -> Result<Self, StoreError> {
        let opened = open_server(url, permission).await;
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
        let (writer, reader, file_readers) = opened?;
        let writer = Arc::new(writer);
        Ok(Self {
            location: Arc::new(Location::Folder(folder)),
            appender: Arc::new(Appender::to_file(Arc::clone(&writer))),
            writer,
            reader,
            file_readers: Some(Arc::new(file_readers)),
            searches: Arc::default(),
            #[cfg(test)]
            reads: Arc::default(),
        })
    }
}

fn move_aside(folder: &Folder) -> StoreError {
    match folder.set_aside() {
        Ok(kept_as) => StoreError::Corrupt { kept_as },
        Err(error) => error,
    }
}

impl Refusal {
    fn at(self, path: PathBuf, failed: impl FnOnce(Failure) -> StoreError) -> StoreError {
        match self {
            Self::Older(version, needed) => StoreError::Older {
                database: path.display().to_string(),
                version,
                needed,
            },
            Self::Newer(version) => StoreError::Newer { path, version },
            Self::Foreign(version) => StoreError::Foreign { path, version },
            Self::Failed(failure) => failed(failure),
        }
    }
}

async fn open_file(folder: &Folder) -> Result<(Writer, AnyPool, FileReaders), Refusal> {
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
    let file_readers = FileReaders::new(options.clone(), MAX_READERS, STATEMENT_TIMEOUT);
    Ok((Writer::new(SQLITE, options, first), reader, file_readers))
}

async fn open_server(url: &Url, permission: Permission) -> Result<Store, Refusal> {
    sqlx::any::install_default_drivers();
    let options = url
        .expose()
        .parse::<AnyConnectOptions>()?
        .disable_statement_logging();
    let mut first = ownership::connect(&options)
        .await
        .map_err(Refusal::Failed)?;
    Schema::of_this_build(Dialect::Postgres)
        .prepare_shared(&mut first, permission)
        .await?;
    let reader = AnyPoolOptions::new()
        .max_connections(MAX_READERS)
        .acquire_timeout(SERVER_TIMEOUT)
        .after_connect(|connection, _| Dialect::Postgres.configure_reader(connection).boxed())
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
        file_readers: None,
        searches: Arc::default(),
        #[cfg(test)]
        reads: Arc::default(),
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
    migrate_file(connection, folder, &Schema::of_this_build(SQLITE)).await?;
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

/// Keeps a copy of the database if a migration changes data.
pub(super) async fn migrate_file(
    connection: &mut AnyConnection,
    folder: &Folder,
    schema: &Schema,
) -> Result<(), Refusal> {
    match schema.state(connection, SQLITE).await? {
        State::Usable => return Ok(()),
        State::Older(version) if schema.changes_data(version) => {
            copy_before_migration(connection, folder, version)
                .await
                .map_err(Refusal::Failed)?;
        }
        State::Older(_) | State::Empty => {}
    }
    schema.migrate(connection).await
}

/// A copy of an earlier, interrupted attempt is kept: it is complete, and older.
async fn copy_before_migration(
    connection: &mut AnyConnection,
    folder: &Folder,
    version: i64,
) -> Result<(), Failure> {
    let copy = folder.copy_of_version(version);
    if copy.exists() {
        return Ok(());
    }
    let part = folder.unfinished_copy()?;
    sqlx::query("VACUUM INTO $1")
        .bind(part.display().to_string())
        .execute(connection)
        .await?;
    sync(&part)?;
    Ok(std::fs::rename(&part, &copy)?)
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

/// The file as a URL with every special character (`..`, `%`, `?`) percent-encoded.
pub(super) fn file_url(database: PathBuf) -> Result<String, Failure> {
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
