//! Facts about a database that a server checks at its start, and that outlive the rows they are about.

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Executor, Row};

use super::Store;
use super::errors::{Failure, StoreError};

/// A token was added once. Never removed: a server whose last token is revoked closes instead of opening.
pub(super) const TOKEN_ADDED: &str = "token-added";
/// The database began empty after a damaged one was moved aside.
const REPLACES_DAMAGED: &str = "replaces-damaged";

/// Sets a flag; one that is set already keeps its detail.
pub(super) fn set(name: &'static str, detail: String) -> Query<'static, Any, AnyArguments> {
    let sql =
        "INSERT INTO server_flags (name, detail) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    sqlx::query(sql).bind(name).bind(detail)
}

/// Marks a database without debates and tokens as the replacement of a damaged one. Any other was restored.
pub(super) async fn mark_replacement(
    connection: &mut AnyConnection,
    kept_as: String,
) -> Result<(), Failure> {
    for query in [
        "SELECT id FROM debates LIMIT 1",
        "SELECT id FROM tokens LIMIT 1",
    ] {
        if connection.fetch_optional(query).await?.is_some() {
            return Ok(());
        }
    }
    set(REPLACES_DAMAGED, kept_as).execute(connection).await?;
    Ok(())
}

impl Store {
    /// Whether this database ever had a token.
    pub(crate) async fn had_tokens(&self) -> Result<bool, StoreError> {
        Ok(self.flag(TOKEN_ADDED).await?.is_some())
    }

    /// The path of the damaged database that this one replaces, until the user accepts it with `accept_replacement`.
    pub(crate) async fn replaces_damaged(&self) -> Result<Option<String>, StoreError> {
        self.flag(REPLACES_DAMAGED).await
    }

    pub(crate) async fn accept_replacement(&self) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM server_flags WHERE name = $1").bind(REPLACES_DAMAGED);
        self.run(self.writer.change(query)).await.map(drop)
    }

    /// The detail of a flag, if it is set.
    async fn flag(&self, name: &'static str) -> Result<Option<String>, StoreError> {
        let query = sqlx::query("SELECT detail FROM server_flags WHERE name = $1").bind(name);
        let read = |row: &AnyRow| Ok(row.try_get("detail")?);
        self.read_optional(query, read).await
    }
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
