//! The few places where the two databases want other words.

use sqlx::{AnyConnection, Executor};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// What every connection needs.
    ///
    /// `SQLite`: FULL, because an answer that was paid for survives a power cut. `PostgreSQL`: the same, where somebody has
    /// switched it off; and a process that stops in the middle of a transaction (its machine sleeps) must not keep others
    /// from taking its debates over.
    pub(super) const fn settings(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON"
            }
            Self::Postgres => {
                "SET application_name = 'roundtable'; SET lock_timeout = '5s'; \
                 SET idle_in_transaction_session_timeout = '5s'; SET client_min_messages = 'error'; \
                 SELECT set_config('synchronous_commit', 'on', false) \
                 WHERE current_setting('synchronous_commit') = 'off'"
            }
        }
    }

    /// IMMEDIATE: a transaction that read first and only then wants to write could be refused instead of waiting.
    pub(super) const fn begin(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN",
        }
    }

    /// A transaction that sees the database as it is at one moment, however long it takes.
    pub(super) const fn begin_to_read(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN",
            Self::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        }
    }

    /// Sorts by bytes, so that both databases give the same order.
    pub(super) const fn by_bytes(self) -> &'static str {
        match self {
            Self::Sqlite => "COLLATE BINARY",
            Self::Postgres => "COLLATE \"C\"",
        }
    }

    pub(super) async fn configure(self, connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
        connection.execute(self.settings()).await?;
        Ok(())
    }
}

/// Milliseconds by the clock of the `PostgreSQL` server: the only one that all processes share.
macro_rules! server_now {
    () => {
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}
pub(super) use server_now;
