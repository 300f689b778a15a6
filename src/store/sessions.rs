//! Sessions of browsers that signed in with a token. Only hashes are stored. A session ends after a time without requests, at the
//! latest after a fixed time, and with its token.

use roundtable_core::hex;
use roundtable_engine::event::Millis;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::errors::StoreError;
use super::row::parse_id;
use super::tokens::TokenError;
use super::{Store, signed, unsigned};

/// How long a session lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionTimeouts {
    /// Since its last request.
    pub idle: Millis,
    /// Since the sign-in.
    pub total: Millis,
}

/// A session, without the secret of its cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionRow {
    /// The beginning of the hash.
    pub id: String,
    /// Name of its token.
    pub token: String,
    pub created_at: Millis,
    /// Up to a minute behind.
    pub last_used_at: Millis,
    /// At the latest.
    pub expires_at: Millis,
}

impl Store {
    /// Stores a session for a browser that signed in with this token. Also deletes sessions that have ended.
    pub(crate) async fn open_session(
        &self,
        hash: &[u8; 32],
        token: Uuid,
        now: Millis,
        timeouts: SessionTimeouts,
    ) -> Result<(), StoreError> {
        let clean_up =
            sqlx::query("DELETE FROM sessions WHERE expires_at <= $1 OR last_used_at <= $2")
                .bind(signed(now))
                .bind(signed(now.saturating_sub(timeouts.idle)));
        let insert = sqlx::query(
            "INSERT INTO sessions (hash, token_id, expires_at, created_at, last_used_at) VALUES ($1, $2, $3, $4, $4)",
        )
        .bind(hex::encode(hash))
        .bind(token.to_string())
        .bind(signed(now.saturating_add(timeouts.total)))
        .bind(signed(now));
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

    /// The token of a session that has not ended.
    pub(crate) async fn session(
        &self,
        hash: &[u8; 32],
        now: Millis,
        timeouts: SessionTimeouts,
    ) -> Result<Option<Uuid>, StoreError> {
        let query = sqlx::query(
            "SELECT token_id FROM sessions WHERE hash = $1 AND expires_at > $2 AND last_used_at > $3",
        )
        .bind(hex::encode(hash))
        .bind(signed(now))
        .bind(signed(now.saturating_sub(timeouts.idle)));
        let read = |row: &AnyRow| parse_id(row.try_get("token_id")?);
        self.read_optional(query, read).await
    }

    /// All sessions that have not ended, oldest first.
    pub(crate) async fn sessions(
        &self,
        now: Millis,
        timeouts: SessionTimeouts,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let query = sqlx::query(
            "SELECT sessions.hash, tokens.name, sessions.created_at, sessions.last_used_at, sessions.expires_at \
             FROM sessions JOIN tokens ON tokens.id = sessions.token_id \
             WHERE sessions.expires_at > $1 AND sessions.last_used_at > $2 \
             AND (tokens.expires_at IS NULL OR tokens.expires_at > $1) ORDER BY sessions.created_at, sessions.hash",
        )
        .bind(signed(now))
        .bind(signed(now.saturating_sub(timeouts.idle)));
        let read = |row: &AnyRow| {
            let hash: String = row.try_get("hash")?;
            Ok(SessionRow {
                id: hash.chars().take(ID_LENGTH).collect(),
                token: row.try_get("name")?,
                created_at: unsigned(row.try_get("created_at")?),
                last_used_at: unsigned(row.try_get("last_used_at")?),
                expires_at: unsigned(row.try_get("expires_at")?),
            })
        };
        self.read_all(query, read).await
    }

    /// Ends the session with this id.
    pub(crate) async fn end_session(&self, id: &str) -> Result<(), TokenError> {
        // 12 is `ID_LENGTH`.
        let query = sqlx::query("DELETE FROM sessions WHERE SUBSTR(hash, 1, 12) = $1").bind(id);
        match self.run(self.writer.change(query)).await? {
            0 => Err(TokenError::NoSession { id: id.into() }),
            _ => Ok(()),
        }
    }

    pub(crate) async fn close_session(&self, hash: &[u8; 32]) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM sessions WHERE hash = $1").bind(hex::encode(hash));
        self.run(self.writer.change(query)).await.map(drop)
    }
}

/// Of a session's id, in hexadecimal digits: enough to be unique, and no help to find the secret.
const ID_LENGTH: usize = 12;

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
