//! Access tokens of a server. Only hashes are stored.

use roundtable_core::hex;
use roundtable_engine::event::Millis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::errors::{Failure, Fault, StoreError};
use super::flags;
use super::row::parse_id;
use super::token_limits::{Reach, TokenLimits};
use super::{Store, signed, unsigned};

/// The operations that a token allows. Each scope includes those before it.
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
    /// `None` if it does not expire.
    pub expires_at: Option<Millis>,
    /// `None` if it was never used. Up to a minute behind.
    pub last_used_at: Option<Millis>,
    pub old_secret: Option<OldSecret>,
    pub reach: Reach,
    pub limits: TokenLimits,
}

/// The secret of a token before its rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OldSecret {
    pub hash: [u8; 32],
    pub valid_until: Millis,
}

impl TokenRow {
    /// A token that does not expire, with reach `all` and no limits.
    pub(crate) fn new(name: String, scope: Scope, hash: [u8; 32], created_at: Millis) -> Self {
        Self {
            id: Uuid::new_v4(),
            name,
            scope,
            hash,
            created_at,
            expires_at: None,
            last_used_at: None,
            old_secret: None,
            reach: Reach::All,
            limits: TokenLimits::default(),
        }
    }

    /// An expired token is treated like an unknown one.
    pub(crate) fn is_expired(&self, now: Millis) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("a token named '{name}' already exists; revoke it first, or choose another name")]
    Exists { name: String },
    #[error("there is no token named '{name}'; `roundtable token list` shows all tokens")]
    NotFound { name: String },
    #[error("there is no session '{id}'; `roundtable token sessions` shows all sessions")]
    NoSession { id: String },
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
            "INSERT INTO tokens (id, name, scope, hash, created_at, expires_at, reach, limits) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(token.id.to_string())
        .bind(token.name.as_str())
        .bind(token.scope.name())
        .bind(hex::encode(token.hash))
        .bind(signed(token.created_at))
        .bind(token.expires_at.map(signed))
        .bind(token.reach.name())
        .bind(limits);
        let added = async {
            let mut transaction = self.writer.begin().await?;
            let added = async {
                query.execute(transaction.connection()).await?;
                let flag = flags::set(flags::TOKEN_ADDED, String::new());
                flag.execute(transaction.connection()).await?;
                Ok(())
            };
            let added = added.await;
            transaction.finish(added).await
        };
        match added.await {
            Ok(()) => Ok(()),
            Err(failure) if failure.fault == Fault::Duplicate => Err(TokenError::Exists {
                name: token.name.clone(),
            }),
            Err(failure) => Err(self.failed(failure).into()),
        }
    }

    /// Oldest first.
    pub(crate) async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let query = sqlx::query(
            "SELECT id, name, scope, hash, created_at, expires_at, last_used_at, old_hash, old_valid_until, reach, limits \
             FROM tokens ORDER BY created_at, name",
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
}

fn read(row: &AnyRow) -> Result<TokenRow, Failure> {
    let name: String = row.try_get("name")?;
    let scope: &str = row.try_get("scope")?;
    let hash: &str = row.try_get("hash")?;
    let unreadable = |what: &str| Failure::unreadable(format!("the {what} of token '{name}'"));
    let old_hash: Option<String> = row.try_get("old_hash")?;
    let old_valid_until: Option<i64> = row.try_get("old_valid_until")?;
    let old_secret = match (old_hash, old_valid_until) {
        (Some(hash), Some(valid_until)) => Some(OldSecret {
            hash: hex::decode(&hash).ok_or_else(|| unreadable("old hash"))?,
            valid_until: unsigned(valid_until),
        }),
        _ => None,
    };
    Ok(TokenRow {
        id: parse_id(row.try_get("id")?)?,
        scope: Scope::ALL
            .into_iter()
            .find(|known| known.name() == scope)
            .ok_or_else(|| unreadable("scope"))?,
        hash: hex::decode(hash).ok_or_else(|| unreadable("hash"))?,
        created_at: unsigned(row.try_get("created_at")?),
        expires_at: row.try_get::<Option<i64>, _>("expires_at")?.map(unsigned),
        last_used_at: row.try_get::<Option<i64>, _>("last_used_at")?.map(unsigned),
        old_secret,
        reach: Reach::named(row.try_get("reach")?).ok_or_else(|| unreadable("reach"))?,
        limits: TokenLimits::read(row.try_get("limits")?).ok_or_else(|| unreadable("limits"))?,
        name,
    })
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
