//! Access tokens and browser sessions of a server. Only hashes are stored.

use roundtable_core::hex;
use roundtable_engine::event::Millis;
use sqlx::Row;
use uuid::Uuid;

use super::errors::{Failure, Fault, StoreError};
use super::row::parse_id;
use super::{Store, signed, unsigned};

/// What a token allows. Each scope includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// View everything.
    Read,
    /// Start debates and take part in them.
    Run,
    /// Delete debates.
    Admin,
}

impl Scope {
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::Run, Self::Admin];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenRow {
    pub id: Uuid,
    pub name: String,
    pub scope: Scope,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    pub created_at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("a token named '{name}' already exists; revoke it first, or choose another name")]
    Exists { name: String },
    #[error("there is no token named '{name}'; `roundtable token list` shows all tokens")]
    NotFound { name: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    pub(crate) async fn add_token(&self, token: &TokenRow) -> Result<(), TokenError> {
        match self.insert_token(token).await {
            Ok(()) => Ok(()),
            Err(failure) if failure.fault == Fault::Duplicate => Err(TokenError::Exists {
                name: token.name.clone(),
            }),
            Err(failure) => Err(self.failed(failure).into()),
        }
    }

    /// Oldest first.
    pub(crate) async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, name, scope, hash, created_at FROM tokens ORDER BY created_at, name",
        )
        .fetch_all(&self.reader)
        .await;
        rows.map_err(Failure::from)
            .and_then(|rows| rows.iter().map(read).collect())
            .map_err(|failure| self.failed(failure))
    }

    pub(crate) async fn revoke_token(&self, name: &str) -> Result<(), TokenError> {
        let deleted = self.delete_token(name).await;
        if deleted.map_err(|failure| self.failed(failure))? {
            Ok(())
        } else {
            Err(TokenError::NotFound { name: name.into() })
        }
    }

    /// Stores a session for a browser that signed in with this token. Also deletes expired sessions.
    pub(crate) async fn open_session(
        &self,
        hash: &[u8; 32],
        token: Uuid,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), StoreError> {
        let opened = async {
            let mut transaction = self.writer.begin().await?;
            let opened = async {
                sqlx::query("DELETE FROM sessions WHERE expires_at < $1")
                    .bind(signed(now))
                    .execute(transaction.connection())
                    .await?;
                sqlx::query(
                    "INSERT INTO sessions (hash, token_id, expires_at) VALUES ($1, $2, $3)",
                )
                .bind(hex::encode(hash))
                .bind(token.to_string())
                .bind(signed(expires_at))
                .execute(transaction.connection())
                .await?;
                Ok::<_, Failure>(())
            }
            .await;
            transaction.finish(opened).await
        };
        opened.await.map_err(|failure| self.failed(failure))
    }

    /// The token of a session that has not expired.
    pub(crate) async fn session(
        &self,
        hash: &[u8; 32],
        now: Millis,
    ) -> Result<Option<Uuid>, StoreError> {
        let row = sqlx::query("SELECT token_id FROM sessions WHERE hash = $1 AND expires_at >= $2")
            .bind(hex::encode(hash))
            .bind(signed(now))
            .fetch_optional(&self.reader)
            .await;
        row.map_err(Failure::from)
            .and_then(|row| {
                row.map(|row| parse_id(row.try_get("token_id")?))
                    .transpose()
            })
            .map_err(|failure| self.failed(failure))
    }

    pub(crate) async fn close_session(&self, hash: &[u8; 32]) -> Result<(), StoreError> {
        let closed = async {
            let mut transaction = self.writer.begin().await?;
            let closed = sqlx::query("DELETE FROM sessions WHERE hash = $1")
                .bind(hex::encode(hash))
                .execute(transaction.connection())
                .await
                .map_err(Failure::from);
            transaction.finish(closed).await.map(drop)
        };
        closed.await.map_err(|failure| self.failed(failure))
    }

    async fn insert_token(&self, token: &TokenRow) -> Result<(), Failure> {
        let mut transaction = self.writer.begin().await?;
        let inserted = sqlx::query(
            "INSERT INTO tokens (id, name, scope, hash, created_at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(token.id.to_string())
        .bind(token.name.as_str())
        .bind(token.scope.name())
        .bind(hex::encode(token.hash))
        .bind(signed(token.created_at))
        .execute(transaction.connection())
        .await
        .map_err(Failure::from);
        transaction.finish(inserted).await?;
        Ok(())
    }

    async fn delete_token(&self, name: &str) -> Result<bool, Failure> {
        let mut transaction = self.writer.begin().await?;
        let deleted = sqlx::query("DELETE FROM tokens WHERE name = $1")
            .bind(name)
            .execute(transaction.connection())
            .await
            .map_err(Failure::from);
        Ok(transaction.finish(deleted).await?.rows_affected() == 1)
    }
}

fn read(row: &sqlx::any::AnyRow) -> Result<TokenRow, Failure> {
    let name: String = row.try_get("name")?;
    let scope: &str = row.try_get("scope")?;
    let hash: &str = row.try_get("hash")?;
    let unreadable = |what: &str| Failure::unreadable(format!("the {what} of token '{name}'"));
    Ok(TokenRow {
        id: parse_id(row.try_get("id")?)?,
        scope: Scope::ALL
            .into_iter()
            .find(|known| known.name() == scope)
            .ok_or_else(|| unreadable("scope"))?,
        hash: hex::decode(hash).ok_or_else(|| unreadable("hash"))?,
        created_at: unsigned(row.try_get("created_at")?),
        name,
    })
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
