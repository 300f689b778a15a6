//! What happened in the world, kept in the journal of the debate that forecast it.

use roundtable_engine::event::{Event, Millis};
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::errors::{Failure, LeaseError, StoreError};
use super::rate::append_numbered;
use super::row::parse_id;
use super::{Store, signed};

/// What happened, or that an earlier word on it is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolution {
    pub outcome: Option<String>,
    pub by: Option<String>,
}

impl Store {
    /// The last word counts; the earlier ones stay in the journal. The debate has to be at rest, as for a rating.
    pub(crate) async fn resolve(
        &self,
        id: Uuid,
        resolving: Resolution,
        now: Millis,
    ) -> Result<(), LeaseError> {
        let Some(_at_rest) = self.hold_at_rest(id).await? else {
            return Err(LeaseError::Held { id });
        };
        let resolved = self.append_resolution(id, resolving, now).await;
        if resolved.map_err(|failure| self.failed(failure))? {
            Ok(())
        } else {
            self.forget_hold(id);
            Err(LeaseError::NotFound { id })
        }
    }

    async fn append_resolution(
        &self,
        id: Uuid,
        resolving: Resolution,
        now: Millis,
    ) -> Result<bool, Failure> {
        let mut writing = self.writer.begin().await?;
        let appended = append(writing.connection(), id, resolving, now).await;
        writing.end(appended).await
    }

    /// The debates of which somebody has said what happened, oldest first.
    pub(crate) async fn resolved_ids(&self) -> Result<Vec<Uuid>, StoreError> {
        let rows = sqlx::query(
            "SELECT id FROM debates WHERE id IN (SELECT debate_id FROM journal WHERE kind = 'resolved') \
             ORDER BY created_at, id",
        )
        .fetch_all(&self.reader)
        .await;
        rows.map_err(Failure::from)
            .and_then(|rows| {
                let ids = rows.iter().map(|row| parse_id(row.try_get("id")?));
                ids.collect()
            })
            .map_err(|failure| self.failed(failure))
    }
}

/// The row first: that locks out whoever else would number an entry.
async fn append(
    connection: &mut AnyConnection,
    id: Uuid,
    resolving: Resolution,
    now: Millis,
) -> Result<bool, Failure> {
    let id = id.to_string();
    let done = sqlx::query("UPDATE debates SET updated_at = $2 WHERE id = $1")
        .bind(id.as_str())
        .bind(signed(now))
        .execute(&mut *connection)
        .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    let event = |number| Event::Resolved {
        number,
        outcome: resolving.outcome,
        by: resolving.by,
    };
    append_numbered(connection, &id, "resolved", event, now).await?;
    Ok(true)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
