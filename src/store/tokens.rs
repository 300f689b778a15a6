//! Access tokens and browser sessions of a server. Only hashes are stored.

use roundtable_core::hex;
use roundtable_engine::event::Millis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::errors::{Failure, Fault, StoreError};
use super::row::parse_id;
use super::token_limits::{Reach, TokenLimits};
use super::{Store, signed, unsigned};

/// What a token allows. Each scope includes those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// View debates.
    Read,
    /// Start debates and take part in them.
    Run,
    /// Delete debates, manage tokens, read the audit log.
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
    pub reach: Reach,
    pub limits: TokenLimits,
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
        let limits = token
            .limits
            .stored()
            .map_err(|failure| self.failed(failure))?;
        let query = sqlx::query(
            "INSERT INTO tokens (id, name, scope, hash, created_at, reach, limits) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(token.id.to_string())
        .bind(token.name.as_str())
        .bind(token.scope.name())
        .bind(hex::encode(token.hash))
        .bind(signed(token.created_at))
        .bind(token.reach.name())
        .bind(limits);
        match self.writer.change(query).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.fault == Fault::Duplicate => Err(TokenError::Exists {
                name: token.name.clone(),
            }),
            Err(failure) => Err(self.failed(failure).into()),
        }
    }

    /// Oldest first.
    pub(crate) async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let query = sqlx::query(
            "SELECT id, name, scope, hash, created_at, reach, limits FROM tokens ORDER BY created_at, name",
        );
        self.read_all(query, read).await
    }

    pub(crate) async fn revoke_token(&self, name: &str) -> Result<(), TokenError> {
        let query = sqlx::query("DELETE FROM tokens WHERE name = $1").bind(name);
        match self.run(self.writer.change(query)).await? {
            1 => Ok(()),
            _ => Err(TokenError::NotFound { name: name.into() }),
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
        let clean_up = sqlx::query("DELETE FROM sessions WHERE expires_at < $1").bind(signed(now));
        let insert =
            sqlx::query("INSERT INTO sessions (hash, token_id, expires_at) VALUES ($1, $2, $3)")
                .bind(hex::encode(hash))
                .bind(token.to_string())
                .bind(signed(expires_at));
        let opened = async {
            let mut transaction = self.writer.begin().await?;
            let opened = async {
                clean_up.execute(transaction.connection()).await?;
                insert.execute(transaction.connection()).await?;
                Ok(())
            };
            let opened = opened.await;
            transaction.finish(opened).await
        };
        self.run(opened).await
    }

    /// The token of a session that has not expired.
    pub(crate) async fn session(
        &self,
        hash: &[u8; 32],
        now: Millis,
    ) -> Result<Option<Uuid>, StoreError> {
        let query =
            sqlx::query("SELECT token_id FROM sessions WHERE hash = $1 AND expires_at >= $2")
                .bind(hex::encode(hash))
                .bind(signed(now));
        let read = |row: &AnyRow| parse_id(row.try_get("token_id")?);
        self.read_optional(query, read).await
    }

    pub(crate) async fn close_session(&self, hash: &[u8; 32]) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM sessions WHERE hash = $1").bind(hex::encode(hash));
        self.run(self.writer.change(query)).await.map(drop)
    }
}

fn read(row: &AnyRow) -> Result<TokenRow, Failure> {
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
        reach: Reach::named(row.try_get("reach")?).ok_or_else(|| unreadable("reach"))?,
        limits: TokenLimits::read(row.try_get("limits")?).ok_or_else(|| unreadable("limits"))?,
        name,
    })
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
