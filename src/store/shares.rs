//! Read-only links to debates. Only hashes of their secrets are stored; deleting a debate deletes its links.

use roundtable_core::hex;
use roundtable_engine::event::Millis;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::errors::{Failure, StoreError};
use super::row::parse_id;
use super::{Store, signed, unsigned};

/// A link to one debate, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShareRow {
    pub id: Uuid,
    pub debate: Uuid,
    /// The name of its creator, if known.
    pub made_by: Option<String>,
    pub created_at: Millis,
    /// `None` if it does not expire.
    pub expires_at: Option<Millis>,
}

impl Store {
    /// Stores a link, unless the debate has `most` links that have not expired. Also deletes those that have.
    pub(crate) async fn add_share(
        &self,
        share: &ShareRow,
        hash: &[u8; 32],
        most: u64,
    ) -> Result<bool, StoreError> {
        let debate = share.debate.to_string();
        let clean_up = sqlx::query("DELETE FROM shares WHERE debate_id = $1 AND expires_at <= $2")
            .bind(debate.clone())
            .bind(signed(share.created_at));
        let insert = sqlx::query(
            "INSERT INTO shares (id, debate_id, hash, made_by, created_at, expires_at) \
             SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT COUNT(*) FROM shares WHERE debate_id = $2) < $7",
        )
        .bind(share.id.to_string())
        .bind(debate)
        .bind(hex::encode(hash))
        .bind(share.made_by.clone().unwrap_or_default())
        .bind(signed(share.created_at))
        .bind(share.expires_at.map(signed))
        .bind(signed(most));
        let added = async {
            let mut transaction = self.writer.begin().await?;
            let added = async {
                clean_up.execute(transaction.connection()).await?;
                let added = insert.execute(transaction.connection()).await?;
                Ok(added.rows_affected() == 1)
            };
            let added = added.await;
            transaction.finish(added).await
        };
        self.run(added).await
    }

    /// The links to a debate that have not expired, oldest first.
    pub(crate) async fn shares_of(
        &self,
        debate: Uuid,
        now: Millis,
    ) -> Result<Vec<ShareRow>, StoreError> {
        let query = sqlx::query(
            "SELECT id, debate_id, made_by, created_at, expires_at FROM shares \
             WHERE debate_id = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY created_at, id",
        )
        .bind(debate.to_string())
        .bind(signed(now));
        self.read_all(query, read).await
    }

    /// The debate that a link leads to; `None` if the link is unknown, has expired or was revoked.
    pub(crate) async fn shared_debate(
        &self,
        hash: &[u8; 32],
        now: Millis,
    ) -> Result<Option<Uuid>, StoreError> {
        let query = sqlx::query(
            "SELECT debate_id FROM shares WHERE hash = $1 AND (expires_at IS NULL OR expires_at > $2)",
        )
        .bind(hex::encode(hash))
        .bind(signed(now));
        let read = |row: &AnyRow| parse_id(row.try_get("debate_id")?);
        self.read_optional(query, read).await
    }

    /// Whether there was such a link.
    pub(crate) async fn revoke_share(&self, debate: Uuid, share: Uuid) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM shares WHERE debate_id = $1 AND id = $2")
            .bind(debate.to_string())
            .bind(share.to_string());
        Ok(self.run(self.writer.change(query)).await? > 0)
    }
}

fn read(row: &AnyRow) -> Result<ShareRow, Failure> {
    let made_by: String = row.try_get("made_by")?;
    Ok(ShareRow {
        id: parse_id(row.try_get("id")?)?,
        debate: parse_id(row.try_get("debate_id")?)?,
        made_by: Some(made_by).filter(|name| !name.is_empty()),
        created_at: unsigned(row.try_get("created_at")?),
        expires_at: row.try_get::<Option<i64>, _>("expires_at")?.map(unsigned),
    })
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
