//! The one connection that writes, and its transactions.
//!
//! `SQLite` has one writer at a time whatever we do. Waiting for it here is fair, and a connection of our own costs
//! half of what one from a pool does: a pool pings it each time it comes back.

use futures::StreamExt;
use sqlx::any::{AnyArguments, AnyConnectOptions, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Connection, Executor};
use tokio::sync::{Mutex, MutexGuard};

use super::appender;
use super::dialect::Dialect;
use super::errors::Failure;
use super::folder::PATIENCE;
use super::ownership::connect;

#[derive(Debug)]
pub(super) struct Writer {
    dialect: Dialect,
    options: AnyConnectOptions,
    /// `None` after a transaction that was not brought to its end; the next one connects anew.
    idle: Mutex<Option<AnyConnection>>,
}

/// A transaction. Statements in it ask for one row even where none comes: that answers with the first thing the
/// driver's thread says, where `execute` waits for that thread once more to hear that nothing follows.
///
/// Dropped before its end, it takes its connection with it, and so nothing of it is kept.
pub(super) struct Writing<'a> {
    connection: AnyConnection,
    place: MutexGuard<'a, Option<AnyConnection>>,
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

    pub(super) async fn begin(&self) -> Result<Writing<'_>, Failure> {
        let beginning = async { self.begin_at(self.turn().await).await };
        match self.dialect {
            Dialect::Sqlite => beginning.await,
            // A connection may be dead without a word; nobody waits for that for ever.
            Dialect::Postgres => tokio::time::timeout(2 * PATIENCE, beginning)
                .await
                .unwrap_or_else(|_| Err(Failure::silent())),
        }
    }

    /// Waits for its turn to write.
    pub(super) async fn turn(&self) -> MutexGuard<'_, Option<AnyConnection>> {
        self.idle.lock().await
    }

    pub(super) async fn begin_at<'w>(
        &self,
        mut place: MutexGuard<'w, Option<AnyConnection>>,
    ) -> Result<Writing<'w>, Failure> {
        let mut connection = self.take(&mut place).await?;
        sqlx::query(self.dialect.begin())
            .fetch_optional(&mut connection)
            .await?;
        Ok(Writing { connection, place })
    }

    async fn take(&self, place: &mut Option<AnyConnection>) -> Result<AnyConnection, Failure> {
        if let Some(connection) = place.take() {
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

    /// A statement with what it gives back.
    pub(super) async fn at_once(
        &self,
        mut place: MutexGuard<'_, Option<AnyConnection>>,
        transaction: Query<'_, Any, AnyArguments>,
    ) -> Result<Vec<AnyRow>, Failure> {
        let mut connection = self.take(&mut place).await?;
        let outcome = transaction.fetch_all(&mut connection).await;
        let is_usable = outcome.is_ok() || roll_back(&mut connection).await;
        if is_usable {
            *place = Some(connection);
        }
        Ok(outcome?)
    }

    /// One statement that is a transaction by itself. When it fails, nothing of it is kept.
    pub(super) async fn alone(
        &self,
        statement: Query<'_, Any, AnyArguments>,
    ) -> Result<(), Failure> {
        let mut place = self.turn().await;
        let mut connection = self.take(&mut place).await?;
        // The first thing that the driver's thread says is that it was committed. Nothing follows that is worth waiting for.
        let outcome = connection.fetch_many(statement).next().await;
        *place = Some(connection);
        match outcome {
            Some(Err(error)) => Err(error.into()),
            Some(Ok(_)) => Ok(()),
            None => Err(Failure::lost()),
        }
    }

    pub(super) async fn close(&self) {
        if let Some(connection) = self.idle.lock().await.take() {
            // The last connection that closes tidies up; the next run can do that too.
            let _ = connection.close().await;
        }
    }

    #[cfg(test)]
    pub(super) async fn run(&self, sql: &'static str) -> Option<sqlx::any::AnyRow> {
        let mut place = self.idle.lock().await;
        let mut connection = self.take(&mut place).await.unwrap();
        let row = connection.fetch_optional(sql).await.unwrap();
        *place = Some(connection);
        row
    }
}

impl Writing<'_> {
    pub(super) fn connection(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }

    /// Commits what went well and takes back what did not.
    pub(super) async fn end<T, E: From<sqlx::Error>>(
        mut self,
        outcome: Result<T, E>,
    ) -> Result<T, E> {
        if outcome.is_ok() {
            sqlx::query("COMMIT")
                .fetch_optional(&mut self.connection)
                .await?;
            *self.place = Some(self.connection);
        } else if roll_back(&mut self.connection).await {
            *self.place = Some(self.connection);
        }
        outcome
    }
}

/// Whether the connection can be used again. When a disk is full, the transaction may be gone already; then it cannot.
async fn roll_back(connection: &mut AnyConnection) -> bool {
    sqlx::query("ROLLBACK").execute(connection).await.is_ok()
}
