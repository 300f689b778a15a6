//! Reads of an `SQLite` file with a time limit for each statement, like `statement_timeout` of `PostgreSQL`.
//!
//! A progress handler interrupts a statement after its deadline, or when the request that waits for it is dropped. sqlx gives
//! no access to that handler through its `Any` connections, so these are connections of their own.

use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use sqlx::any::{AnyArguments, AnyConnectOptions, AnyRow};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Any, ConnectOptions, Connection, Execute, Executor};
use sqlx_core::any::AnyConnectionBackend;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::dialect::Dialect;
use super::lock;

/// The deadline is checked after this many instructions of `SQLite`'s virtual machine. That takes microseconds.
const CHECK_INTERVAL: i32 = 1_000;
/// How long a read waits for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);

/// A few connections, opened when they are needed.
#[derive(Debug)]
pub(super) struct FileReaders {
    options: AnyConnectOptions,
    max_connections: u32,
    permits: Semaphore,
    idle: Mutex<Vec<FileReader>>,
    pub(super) statement_timeout: Duration,
}

impl FileReaders {
    pub(super) fn new(
        options: AnyConnectOptions,
        max_connections: u32,
        statement_timeout: Duration,
    ) -> Self {
        Self {
            options,
            max_connections,
            permits: Semaphore::new(max_connections as usize),
            idle: Mutex::default(),
            statement_timeout,
        }
    }

    /// The rows of a query.
    pub(super) async fn fetch_all(
        &self,
        query: Query<'_, Any, AnyArguments>,
    ) -> Result<Vec<AnyRow>, sqlx::Error> {
        let _permit = self.permit().await?;
        let idle = lock(&self.idle).pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => FileReader::open(&self.options).await?,
        };
        // Dropped meanwhile, the connection is closed and not used again.
        let rows = reader.fetch_all(query, self.statement_timeout).await;
        lock(&self.idle).push(reader);
        rows
    }

    /// Waits for running statements, then closes the connections.
    pub(super) async fn close(&self) {
        let _all = self.permits.acquire_many(self.max_connections).await;
        self.permits.close();
        let idle = std::mem::take(&mut *lock(&self.idle));
        for reader in idle {
            // Without it, the file is closed by the end of the process.
            let _ = reader.connection.close().await;
        }
    }

    async fn permit(&self) -> Result<SemaphorePermit<'_>, sqlx::Error> {
        match tokio::time::timeout(ACQUIRE_TIMEOUT, self.permits.acquire()).await {
            Ok(permit) => permit.map_err(|_| sqlx::Error::PoolClosed),
            Err(_) => Err(sqlx::Error::PoolTimedOut),
        }
    }
}

#[derive(Debug)]
struct FileReader {
    connection: SqliteConnection,
    deadline: Arc<Deadline>,
}

impl FileReader {
    async fn open(options: &AnyConnectOptions) -> Result<Self, sqlx::Error> {
        let mut connection = SqliteConnectOptions::try_from(options)?.connect().await?;
        connection.execute(Dialect::Sqlite.settings()).await?;
        let deadline = Arc::new(Deadline::new());
        let checked = Arc::clone(&deadline);
        connection
            .lock_handle()
            .await?
            .set_progress_handler(CHECK_INTERVAL, move || !checked.has_passed());
        Ok(Self {
            connection,
            deadline,
        })
    }

    async fn fetch_all(
        &mut self,
        mut query: Query<'_, Any, AnyArguments>,
        timeout: Duration,
    ) -> Result<Vec<AnyRow>, sqlx::Error> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode)?;
        let is_persistent = Execute::persistent(&query);
        let _running = self.deadline.start(timeout);
        AnyConnectionBackend::fetch_many(
            &mut self.connection,
            query.sql(),
            is_persistent,
            arguments,
        )
        .try_filter_map(|item| ready(Ok(item.right())))
        .try_collect()
        .await
    }
}

/// When the running statement of a connection is interrupted.
#[derive(Debug)]
struct Deadline {
    opened: Instant,
    /// Milliseconds after `opened`.
    at: AtomicU64,
}

impl Deadline {
    fn new() -> Self {
        Self {
            opened: Instant::now(),
            at: AtomicU64::new(0),
        }
    }

    fn start(&self, timeout: Duration) -> Running<'_> {
        // Rounded up: a statement has its whole time.
        let at = milliseconds(self.opened.elapsed() + timeout).saturating_add(1);
        self.at.store(at, Ordering::Relaxed);
        Running(self)
    }

    fn has_passed(&self) -> bool {
        milliseconds(self.opened.elapsed()) >= self.at.load(Ordering::Relaxed)
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A statement that a caller waits for. Dropping it interrupts the statement, if it still runs.
struct Running<'a>(&'a Deadline);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.at.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "file_readers_tests.rs"]
mod tests;
