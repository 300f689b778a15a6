//! The schema: migrations, who may run them, and which builds may use a database.
//!
//! A data folder is migrated when it is opened. A shared database is migrated only by `roundtable db migrate`, or if it is
//! empty, because a new schema concerns every process that uses it. A build can use a newer schema as long as that schema
//! names it in the table `compatibility`.

use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, Row, SqlSafeStr};

use super::dialect::Dialect;
use super::errors::Failure;

/// Whether an existing schema may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    Migrate,
    /// Only an empty database gets a schema.
    CreateOnly,
}

/// Why a database cannot be used.
pub(super) enum Refusal {
    /// This build needs the second version.
    Older(i64, i64),
    Newer(i64),
    Foreign(i64),
    Failed(Failure),
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<MigrateError> for Refusal {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            other => Self::Failed(Failure::other(other.to_string())),
        }
    }
}

/// A database's schema, as this build sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Empty,
    /// The last version up to which it has all migrations.
    Older(i64),
    /// It has everything that this build needs.
    Usable,
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

/// The migrations of a build.
pub(super) struct Schema(Migrator);

impl Schema {
    /// Listed explicitly, so that a stray file in the folder is never run.
    pub(super) fn of_this_build(dialect: Dialect) -> Self {
        Self::new(vec![
            (
                1,
                "debates and journal",
                include_str!("../../migrations/0001_debates_and_journal.sql"),
            ),
            (
                2,
                "serving",
                include_str!("../../migrations/0002_serving.sql"),
            ),
            (
                3,
                "learning",
                include_str!("../../migrations/0003_learning.sql"),
            ),
            (
                4,
                "owners",
                include_str!("../../migrations/0004_owners.sql"),
            ),
            (
                5,
                "access",
                include_str!("../../migrations/0005_access.sql"),
            ),
            (6, "ownership", ownership_migration(dialect)),
            (
                7,
                "reading",
                include_str!("../../migrations/0007_reading.sql"),
            ),
            (
                8,
                "checksums",
                include_str!("../../migrations/0008_checksums.sql"),
            ),
            (
                12,
                "threads",
                include_str!("../../migrations/0012_threads.sql"),
            ),
            (
                13,
                "library",
                include_str!("../../migrations/0013_library.sql"),
            ),
            (
                14,
                "test calls",
                include_str!("../../migrations/0014_test_calls.sql"),
            ),
            (
                15,
                "questions",
                include_str!("../../migrations/0015_questions.sql"),
            ),
        ])
    }

    pub(super) fn new(migrations: Vec<(i64, &'static str, &'static str)>) -> Self {
        let migration = |(version, name, sql): (i64, &'static str, &'static str)| {
            let sql = sql.into_sql_str();
            Migration::new(version, name.into(), MigrationType::Simple, sql, false)
        };
        let migrations = migrations.into_iter().map(migration).collect();
        Self(Migrator::with_migrations(migrations))
    }

    /// The version that this build needs.
    fn newest(&self) -> i64 {
        self.0.iter().map(|own| own.version).max().unwrap_or(0)
    }

    /// Compares the migrations that were run with those of this build.
    pub(super) async fn state(
        &self,
        connection: &mut AnyConnection,
        dialect: Dialect,
    ) -> Result<State, Refusal> {
        let applied = applied(connection, dialect).await?;
        let mut unknown = None;
        for (version, checksum) in &applied {
            match self.0.iter().find(|own| own.version == *version) {
                Some(own) if own.checksum == *checksum => {}
                Some(_) => return Err(Refusal::Foreign(*version)),
                None => unknown = Some(*version),
            }
        }
        let has = |version| applied.iter().any(|(applied, _)| *applied == version);
        let own = self.0.iter().map(|own| own.version);
        let complete_to = own.take_while(|version| has(*version)).last().unwrap_or(0);
        let is_complete = complete_to == self.newest();
        match unknown {
            _ if applied.is_empty() => Ok(State::Empty),
            Some(version) => {
                let oldest = oldest_build(connection, dialect).await?;
                if is_complete && oldest.is_some_and(|oldest| oldest <= self.newest()) {
                    Ok(State::Usable)
                } else {
                    Err(Refusal::Newer(version))
                }
            }
            None if is_complete => Ok(State::Usable),
            None => Ok(State::Older(complete_to)),
        }
    }

    /// Whether migrating loses or rewrites values that are in the database now.
    pub(super) fn changes_data(&self, from: i64) -> bool {
        let pending = self.0.iter().filter(|own| own.version > from);
        pending
            .into_iter()
            .any(|own| changes_data(own.sql.as_str()))
    }

    pub(super) async fn migrate(&self, connection: &mut AnyConnection) -> Result<(), Refusal> {
        Ok(self.0.run_direct(None, connection, false).await?)
    }

    /// Creates or migrates the schema of a shared database, if that is permitted.
    pub(super) async fn prepare_shared(
        &self,
        connection: &mut AnyConnection,
        permission: Permission,
    ) -> Result<(), Refusal> {
        const DIALECT: Dialect = Dialect::Postgres;
        if self.state(connection, DIALECT).await? == State::Usable {
            return Ok(());
        }
        // Another process may be migrating it: its migrations are committed one by one.
        connection.lock().await?;
        let prepared = match self.state(connection, DIALECT).await {
            Ok(State::Usable) => Ok(()),
            Ok(State::Older(found)) if permission == Permission::CreateOnly => {
                Err(Refusal::Older(found, self.newest()))
            }
            Ok(State::Older(_) | State::Empty) => self.migrate(connection).await,
            Err(refusal) => Err(refusal),
        };
        connection.unlock().await?;
        prepared
    }
}

/// The migrations that were run, in order.
async fn applied(
    connection: &mut AnyConnection,
    dialect: Dialect,
) -> Result<Vec<(i64, Vec<u8>)>, sqlx::Error> {
    if !has_table(connection, dialect, "_sqlx_migrations").await? {
        return Ok(Vec::new());
    }
    let rows = sqlx::query("SELECT version, checksum FROM _sqlx_migrations ORDER BY version")
        .fetch_all(connection)
        .await?;
    rows.iter()
        .map(|row| Ok((row.try_get("version")?, row.try_get("checksum")?)))
        .collect()
}

/// The oldest schema version whose builds can use the database.
async fn oldest_build(
    connection: &mut AnyConnection,
    dialect: Dialect,
) -> Result<Option<i64>, sqlx::Error> {
    if !has_table(connection, dialect, "compatibility").await? {
        return Ok(None);
    }
    let row = sqlx::query("SELECT MAX(oldest) AS oldest FROM compatibility")
        .fetch_one(connection)
        .await?;
    row.try_get("oldest")
}

async fn has_table(
    connection: &mut AnyConnection,
    dialect: Dialect,
    name: &'static str,
) -> Result<bool, sqlx::Error> {
    let sql = match dialect {
        Dialect::Sqlite => "SELECT COUNT(*) AS found FROM sqlite_master WHERE name = $1",
        Dialect::Postgres => "SELECT COUNT(*) AS found FROM pg_class WHERE oid = to_regclass($1)",
    };
    let row = sqlx::query(sql).bind(name).fetch_one(connection).await?;
    Ok(row.try_get::<i64, _>("found")? > 0)
}

/// Whether a migration does more than add tables, columns, indexes and rows.
fn changes_data(sql: &str) -> bool {
    let lines = sql
        .lines()
        .map(|line| line.split("--").next().unwrap_or_default());
    let sql = lines.collect::<Vec<_>>().join("\n").to_ascii_uppercase();
    sql.split(';').any(|statement| {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words.first() {
            Some(&"UPDATE" | &"DELETE" | &"DROP") => true,
            Some(&"ALTER") => words.iter().any(|word| matches!(*word, "DROP" | "RENAME")),
            Some(_) | None => false,
        }
    })
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
