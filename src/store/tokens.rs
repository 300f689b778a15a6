//! Service tokens: who may use a server, and for what. Only their hashes are kept.

use roundtable_engine::event::Millis;
use sqlx::Row;
use uuid::Uuid;

use super::errors::{Failure, Fault, StoreError};
use super::row::parse_id;
use super::{Store, signed, unsigned};

/// What a token allows. Each scope includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Looking at everything.
    Read,
    /// Starting debates and taking part in them.
    Run,
    /// Deleting.
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
    #[error("there already is a token named '{name}'; revoke it first, or take another name")]
    Exists { name: String },
    #[error("there is no token named '{name}'; `roundtable token list` shows those there are")]
    NotFound { name: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    pub(crate) async fn add_token(&self, token: &TokenRow) -> Result<(), TokenError> {
        match self.insert_token(token).await {
            Ok(()) => Ok(()),
            Err(failure) if failure.fault == Fault::Taken => Err(TokenError::Exists {
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

    /// A browser has signed in with this token. Sessions that are over go on the way.
    pub(crate) async fn open_session(
        &self,
        hash: &[u8; 32],
        token: Uuid,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), StoreError> {
        let opened = async {
            let mut writing = self.writer.begin().await?;
            let opened = async {
                sqlx::query("DELETE FROM sessions WHERE expires_at < $1")
                    .bind(signed(now))
                    .execute(writing.connection())
                    .await?;
                sqlx::query(
                    "INSERT INTO sessions (hash, token_id, expires_at) VALUES ($1, $2, $3)",
                )
                .bind(to_hex(hash))
                .bind(token.to_string())
                .bind(signed(expires_at))
                .execute(writing.connection())
                .await?;
                Ok::<_, Failure>(())
            }
            .await;
            writing.end(opened).await
        };
        opened.await.map_err(|failure| self.failed(failure))
    }

    /// The token that a session which is not over was opened with.
    pub(crate) async fn session(
        &self,
        hash: &[u8; 32],
        now: Millis,
    ) -> Result<Option<Uuid>, StoreError> {
        let row = sqlx::query("SELECT token_id FROM sessions WHERE hash = $1 AND expires_at >= $2")
            .bind(to_hex(hash))
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
            let mut writing = self.writer.begin().await?;
            let closed = sqlx::query("DELETE FROM sessions WHERE hash = $1")
                .bind(to_hex(hash))
                .execute(writing.connection())
                .await
                .map_err(Failure::from);
            writing.end(closed).await.map(drop)
        };
        closed.await.map_err(|failure| self.failed(failure))
    }

    async fn insert_token(&self, token: &TokenRow) -> Result<(), Failure> {
        let mut writing = self.writer.begin().await?;
        let inserted = sqlx::query(
            "INSERT INTO tokens (id, name, scope, hash, created_at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(token.id.to_string())
        .bind(token.name.as_str())
        .bind(token.scope.name())
        .bind(to_hex(&token.hash))
        .bind(signed(token.created_at))
        .execute(writing.connection())
        .await
        .map_err(Failure::from);
        writing.end(inserted).await?;
        Ok(())
    }

    async fn delete_token(&self, name: &str) -> Result<bool, Failure> {
        let mut writing = self.writer.begin().await?;
        let deleted = sqlx::query("DELETE FROM tokens WHERE name = $1")
            .bind(name)
            .execute(writing.connection())
            .await
            .map_err(Failure::from);
        Ok(writing.end(deleted).await?.rows_affected() == 1)
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
        hash: from_hex(hash).ok_or_else(|| unreadable("hash"))?,
        created_at: unsigned(row.try_get("created_at")?),
        name,
    })
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
