//! Resolutions of forecasts, kept in the journal of the debate.

use roundtable_engine::event::{Event, Millis};
use uuid::Uuid;

use super::errors::{LeaseError, StoreError};
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
        let update = sqlx::query("UPDATE debates SET updated_at = $2 WHERE id = $1")
            .bind(id.to_string())
            .bind(signed(now));
        let event = |number| Event::Resolved {
            number,
            outcome: resolution.outcome,
            by: resolution.by,
        };
        self.annotate(id, update, "resolved", event, now).await
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

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
