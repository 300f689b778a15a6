//! Rotation and change of tokens, and the last use of tokens and sessions.

use std::collections::HashMap;

use roundtable_core::hex;
use roundtable_engine::event::Millis;
use uuid::Uuid;

use super::errors::StoreError;
use super::token_limits::{Reach, TokenLimits};
use super::tokens::TokenError;
use super::{Store, signed};

/// When tokens and sessions were last used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub tokens: HashMap<Uuid, Millis>,
    /// By hash.
    pub sessions: HashMap<[u8; 32], Millis>,
}

impl Store {
    /// Replaces the secret of a token. The old one, and sessions opened with it, stay valid until `old_valid_until`.
    /// `expires_at` is the token's expiry from now on.
    pub(crate) async fn rotate_token(
        &self,
        name: &str,
        hash: &[u8; 32],
        old_valid_until: Millis,
        expires_at: Option<Millis>,
    ) -> Result<(), TokenError> {
        let rotate = sqlx::query(
            "UPDATE tokens SET old_hash = hash, old_valid_until = $2, hash = $3, expires_at = $4 WHERE name = $1",
        )
        .bind(name)
        .bind(signed(old_valid_until))
        .bind(hex::encode(hash))
        .bind(expires_at.map(signed));
        let end_sessions = sqlx::query(
            "UPDATE sessions SET expires_at = $2 WHERE expires_at > $2 \
             AND token_id IN (SELECT id FROM tokens WHERE name = $1)",
        )
        .bind(name)
        .bind(signed(old_valid_until));
        let rotated = async {
            let mut transaction = self.writer.begin().await?;
            let rotated = async {
                let rotated = rotate.execute(transaction.connection()).await?;
                end_sessions.execute(transaction.connection()).await?;
                Ok(rotated.rows_affected())
            };
            let rotated = rotated.await;
            transaction.finish(rotated).await
        };
        match self.run(rotated).await? {
            1 => Ok(()),
            _ => Err(TokenError::NotFound { name: name.into() }),
        }
    }

    /// Replaces the reach and the limits of a token. Its secret, sessions and debates stay.
    pub(crate) async fn change_token(
        &self,
        name: &str,
        reach: Reach,
        limits: &TokenLimits,
    ) -> Result<(), TokenError> {
        let limits = limits.stored().map_err(|failure| self.failed(failure))?;
        let query = sqlx::query("UPDATE tokens SET reach = $2, limits = $3 WHERE name = $1")
            .bind(name)
            .bind(reach.name())
            .bind(limits);
        match self.run(self.writer.change(query)).await? {
            1 => Ok(()),
            _ => Err(TokenError::NotFound { name: name.into() }),
        }
    }

    /// Records the last use of tokens and sessions. Earlier times than those recorded have no effect.
    pub(crate) async fn record_uses(&self, uses: &Uses) -> Result<(), StoreError> {
        let recorded = async {
            let mut transaction = self.writer.begin().await?;
            let recorded = async {
                for (token, at) in &uses.tokens {
                    sqlx::query(
                        "UPDATE tokens SET last_used_at = $2 WHERE id = $1 \
                         AND (last_used_at IS NULL OR last_used_at < $2)",
                    )
                    .bind(token.to_string())
                    .bind(signed(*at))
                    .execute(transaction.connection())
                    .await?;
                }
                for (session, at) in &uses.sessions {
                    sqlx::query("UPDATE sessions SET last_used_at = $2 WHERE hash = $1 AND last_used_at < $2")
                        .bind(hex::encode(session))
                        .bind(signed(*at))
                        .execute(transaction.connection())
                        .await?;
                }
                Ok(())
            };
            let recorded = recorded.await;
            transaction.finish(recorded).await
        };
        self.run(recorded).await
    }
}

#[cfg(test)]
#[path = "token_life_tests.rs"]
mod tests;
