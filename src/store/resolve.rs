//! Resolutions of forecasts, kept in the journal of the debate.

use roundtable_engine::event::{Event, Millis};
use sqlx::AnyConnection;
use uuid::Uuid;

use super::errors::{Failure, LeaseError, StoreError};
use super::rate::append_numbered;
use super::{Store, signed};

/// The actual outcome; `None` withdraws an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolution {
    pub outcome: Option<String>,
    pub by: Option<String>,
}

impl Store {
    /// The last resolution counts; earlier ones stay in the journal. Needs the debate's lock, as a rating does.
    pub(crate) async fn resolve(
        &self,
        id: Uuid,
        resolution: Resolution,
        now: Millis,
    ) -> Result<(), LeaseError> {
        let Some(_lock) = self.lock_idle_debate(id).await? else {
            return Err(LeaseError::Held { id });
        };
        let resolved = self.append_resolution(id, resolution, now).await;
        if resolved.map_err(|failure| self.failed(failure))? {
            Ok(())
        } else {
            self.remove_debate_lock(id);
            Err(LeaseError::NotFound { id })
        }
    }

    async fn append_resolution(
        &self,
        id: Uuid,
        resolution: Resolution,
        now: Millis,
    ) -> Result<bool, Failure> {
        let mut transaction = self.writer.begin().await?;
        let appended = append(transaction.connection(), id, resolution, now).await;
        transaction.finish(appended).await
    }

    /// The resolved debates, oldest first.
    pub(crate) async fn resolved_ids(&self) -> Result<Vec<Uuid>, StoreError> {
        self.select_ids(
            "SELECT id FROM debates WHERE id IN (SELECT debate_id FROM journal WHERE kind = 'resolved') \
             ORDER BY created_at, id",
        )
        .await
    }
}

/// Updates the row first, which locks out other writers that number entries.
async fn append(
    connection: &mut AnyConnection,
    id: Uuid,
    resolution: Resolution,
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
        outcome: resolution.outcome,
        by: resolution.by,
    };
    append_numbered(connection, &id, "resolved", event, now).await?;
    Ok(true)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
