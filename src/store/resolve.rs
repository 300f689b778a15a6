//! Resolutions of forecasts, kept in the journal of the debate.

use roundtable_engine::event::{Event, Millis};
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::errors::{LeaseError, StoreError};
use super::row::parse_id;
use super::{Store, signed, unsigned};

/// The actual outcome; `None` withdraws an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolution {
    pub outcome: Option<String>,
    pub by: Option<String>,
    /// The number or date, if the question asks for one and it is known.
    pub value: Option<String>,
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
            value: resolution.value,
        };
        self.annotate(id, update, "resolved", event, now).await
    }

    /// The resolved debates with the number of their last journal entry, oldest first; with a token only its own.
    pub(crate) async fn resolved_debates(
        &self,
        token: Option<Uuid>,
    ) -> Result<Vec<(Uuid, u64)>, StoreError> {
        let query = sqlx::query(
            "SELECT id, (SELECT MAX(seq) FROM journal WHERE debate_id = debates.id) AS seq FROM debates \
             WHERE id IN (SELECT debate_id FROM journal WHERE kind = 'resolved') \
             AND ($1 = '' OR token_id = $1) ORDER BY created_at, id",
        )
        .bind(token.map_or_else(String::new, |id| id.to_string()));
        let read = |row: &AnyRow| {
            let id = parse_id(row.try_get("id")?)?;
            Ok((id, unsigned(row.try_get("seq")?)))
        };
        self.read_all(query, read).await
    }
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
