//! The SQL that differs between `SQLite` and `PostgreSQL`.

use std::time::Duration;

use sqlx::{AnyConnection, AssertSqlSafe, Executor};

/// How long a statement of a reader may take.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// The settings of every connection.
    ///
    /// `SQLite`: synchronous = FULL, so that a committed entry survives a power cut; `secure_delete`, so that deleted text is
    /// overwritten. `PostgreSQL`: turns `synchronous_commit`
    /// back on if it is off, and ends idle transactions, so that a suspended process cannot keep others from taking over.
    pub(super) const fn settings(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; \
                 PRAGMA secure_delete = ON"
            }
            Self::Postgres => {
                "SET application_name = 'roundtable'; SET lock_timeout = '5s'; \
                 SET idle_in_transaction_session_timeout = '5s'; SET client_min_messages = 'error'; \
                 SELECT set_config('synchronous_commit', 'on', false) \
                 WHERE current_setting('synchronous_commit') = 'off'"
            }
        }
    }

    /// IMMEDIATE: a transaction that reads first and writes later could fail with `SQLITE_BUSY` instead of waiting.
    pub(super) const fn begin(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN",
        }
    }

    /// A read transaction with one consistent snapshot, for reading whole tables.
    pub(super) const fn begin_read(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN",
            Self::Postgres => {
                "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = 0"
            }
        }
    }

    /// The function that finds a text in another; 0 if it is not there.
    pub(super) const fn position(self) -> &'static str {
        match self {
            Self::Sqlite => "instr",
            Self::Postgres => "strpos",
        }
    }

    /// Sorts by bytes, so that both databases return the same order.
    pub(super) const fn by_bytes(self) -> &'static str {
        match self {
            Self::Sqlite => "COLLATE BINARY",
            Self::Postgres => "COLLATE \"C\"",
        }
    }

    /// The bytes of a text column as they are stored, valid UTF-8 or not.
    pub(super) fn bytes_of(self, column: &str) -> String {
        match self {
            Self::Sqlite => format!("CAST({column} AS BLOB) AS {column}"),
            Self::Postgres => format!("convert_to({column}, 'UTF8') AS {column}"),
        }
    }

    pub(super) async fn configure(self, connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
        connection.execute(self.settings()).await?;
        Ok(())
    }

    /// Like `configure`, for a connection that reads. On a server, a slow query is cancelled, so that it does not hold the
    /// connection; `file_readers` do the same for a file.
    pub(super) async fn configure_reader(
        self,
        connection: &mut AnyConnection,
    ) -> Result<(), sqlx::Error> {
        self.configure(connection).await?;
        if self == Self::Postgres {
            let timeout = STATEMENT_TIMEOUT.as_millis();
            let set = format!("SET statement_timeout = {timeout}");
            connection.execute(AssertSqlSafe(set)).await?;
        }
        Ok(())
    }
}

/// Milliseconds on the `PostgreSQL` server's clock, the only one that all processes share.
macro_rules! server_now {
    () => {
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}
pub(super) use server_now;
