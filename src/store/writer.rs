//! The only connection that writes, and its transactions.
//!
//! `SQLite` allows one writer at a time anyway. Waiting for it here is fair, and a dedicated connection costs half as much as
//! one from a pool, which pings it on every return.

use futures::StreamExt;
use sqlx::any::{AnyArguments, AnyConnectOptions, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Connection, Executor};
use tokio::sync::{Mutex, MutexGuard};

use super::SERVER_TIMEOUT;
use super::appender;
use super::dialect::Dialect;
use super::errors::Failure;
use super::ownership::connect;

#[derive(Debug)]
pub(super) struct Writer {
    dialect: Dialect,
    options: AnyConnectOptions,
    /// `None` after a transaction that was dropped unfinished; the next one reconnects.
    idle: Mutex<Option<AnyConnection>>,
}

/// A transaction. Its own statements use `fetch_optional` even without a result: it returns with the first message from the
/// driver's thread, while `execute` waits for a second one.
///
/// Dropped unfinished, it closes its connection, which rolls it back.
pub(super) struct WriteTransaction<'a> {
    connection: AnyConnection,
    idle: MutexGuard<'a, Option<AnyConnection>>,
}

impl Writer {
    pub(super) fn new(
        dialect: Dialect,
        options: AnyConnectOptions,
        connection: AnyConnection,
    ) -> Self {
        Self {
            dialect,
            options,
            idle: Mutex::new(Some(connection)),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(super) async fn begin(&self) -> Result<WriteTransaction<'_>, Failure> {
        match self.dialect {
            Dialect::Sqlite => self.begin_untimed().await,
            Dialect::Postgres => tokio::time::timeout(SERVER_TIMEOUT, self.begin_untimed())
                .await
                .unwrap_or_else(|_| Err(Failure::timed_out())),
        }
    }

    async fn begin_untimed(&self) -> Result<WriteTransaction<'_>, Failure> {
        let mut idle = self.idle.lock().await;
        let mut connection = self.take(&mut idle).await?;
        sqlx::query(self.dialect.begin())
            .fetch_optional(&mut connection)
            .await?;
        Ok(WriteTransaction { connection, idle })
    }

    async fn take(&self, idle: &mut Option<AnyConnection>) -> Result<AnyConnection, Failure> {
        if let Some(connection) = idle.take() {
            return Ok(connection);
        }
        if self.dialect == Dialect::Postgres {
            return connect(&self.options).await;
        }
        let mut connection = AnyConnection::connect_with(&self.options).await?;
        self.dialect.configure(&mut connection).await?;
        appender::prepare(&mut connection).await?;
        Ok(connection)
    }

    /// Runs one statement in a transaction and returns the number of rows that it changed.
    pub(super) async fn change(
        &self,
        statement: Query<'_, Any, AnyArguments>,
    ) -> Result<u64, Failure> {
        let mut transaction = self.begin().await?;
        let done = statement.execute(transaction.connection()).await;
        let done = transaction.finish(done.map_err(Failure::from)).await?;
        Ok(done.rows_affected())
    }

    /// Runs one statement and returns its rows.
    pub(super) async fn fetch_all(
        &self,
        statement: Query<'_, Any, AnyArguments>,
    ) -> Result<Vec<AnyRow>, Failure> {
        let mut idle = self.idle.lock().await;
        let mut connection = self.take(&mut idle).await?;
        let outcome = statement.fetch_all(&mut connection).await;
        let is_usable = outcome.is_ok() || roll_back(&mut connection).await;
        if is_usable {
            *idle = Some(connection);
        }
        Ok(outcome?)
    }

    /// Runs one statement as its own transaction.
    pub(super) async fn execute(
        &self,
        statement: Query<'_, Any, AnyArguments>,
    ) -> Result<(), Failure> {
        let mut idle = self.idle.lock().await;
        let mut connection = self.take(&mut idle).await?;
        // The first message from the driver's thread confirms the commit; later messages are not needed.
        let outcome = connection.fetch_many(statement).next().await;
        *idle = Some(connection);
        match outcome {
            Some(Err(error)) => Err(error.into()),
            Some(Ok(_)) => Ok(()),
            None => Err(Failure::abandoned()),
        }
    }

    pub(super) async fn close(&self) {
        if let Some(connection) = self.idle.lock().await.take() {
            // The last connection to close checkpoints the WAL; otherwise the next run does.
            let _ = connection.close().await;
        }
    }

    #[cfg(test)]
    pub(super) async fn run(&self, sql: &'static str) -> Option<sqlx::any::AnyRow> {
        let mut idle = self.idle.lock().await;
        let mut connection = self.take(&mut idle).await.unwrap();
        let row = connection.fetch_optional(sql).await.unwrap();
        *idle = Some(connection);
        row
    }
}

impl WriteTransaction<'_> {
    pub(super) fn connection(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }

    /// Commits if `outcome` is `Ok`, otherwise rolls back.
    pub(super) async fn finish<T>(mut self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        if outcome.is_ok() {
            sqlx::query("COMMIT")
                .fetch_optional(&mut self.connection)
                .await?;
            *self.idle = Some(self.connection);
        } else if roll_back(&mut self.connection).await {
            *self.idle = Some(self.connection);
        }
        outcome
    }
}

/// Whether the connection can be used again. On a full disk `SQLite` may have rolled back already; then ROLLBACK fails.
async fn roll_back(connection: &mut AnyConnection) -> bool {
    sqlx::query("ROLLBACK").execute(connection).await.is_ok()
}
