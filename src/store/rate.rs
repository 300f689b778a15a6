//! What a user thought of a debate, kept in its journal beside the score of the judge (P-08).

use std::ops::RangeInclusive;

use roundtable_engine::event::{Entry, Event, Millis};
use roundtable_engine::journal::Keyed;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::errors::{Failure, LeaseError};
use super::journal::insert;
use super::location::Held;
use super::{Store, signed, unsigned};

/// On the scale of the judge's score, so that one can stand for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rating(u8);

impl Rating {
    pub(crate) const RANGE: RangeInclusive<u8> = 1..=10;

    pub(crate) fn new(value: u8) -> Option<Self> {
        Self::RANGE.contains(&value).then_some(Self(value))
    }

    pub(crate) const fn value(self) -> u8 {
        self.0
    }
}

impl Store {
    /// The last rating counts; the earlier ones stay in the journal.
    ///
    /// Entries are numbered by whoever runs the debate, so a rating needs it to be at rest. It waits a little for a
    /// process that has ended the debate and is about to go.
    pub(crate) async fn rate(
        &self,
        id: Uuid,
        rating: Rating,
        comment: Option<String>,
        now: Millis,
    ) -> Result<(), LeaseError> {
        let Some(_at_rest) = self.hold_at_rest(id).await? else {
            return Err(LeaseError::Held { id });
        };
        let rated = self.append_rating(id, rating, comment, now).await;
        if rated.map_err(|failure| self.failed(failure))? {
            Ok(())
        } else {
            self.forget_hold(id);
            Err(LeaseError::NotFound { id })
        }
    }

    /// Waits a little for a process that has ended the debate and is about to go.
    pub(super) async fn hold_at_rest(&self, id: Uuid) -> Result<Option<Held>, LeaseError> {
        if let Some(held) = self.try_hold(id).await? {
            return Ok(Some(held));
        }
        let ended = self
            .get(id)
            .await?
            .is_some_and(|debate| debate.ended_at.is_some());
        if ended {
            Ok(self.hold(id).await?)
        } else {
            Ok(None)
        }
    }

    /// `false` if there is no such debate.
    async fn append_rating(
        &self,
        id: Uuid,
        rating: Rating,
        comment: Option<String>,
        now: Millis,
    ) -> Result<bool, Failure> {
        let mut writing = self.writer.begin().await?;
        let appended = append_rating(writing.connection(), id, rating, comment, now).await;
        writing.end(appended).await
    }
}

/// The row first: that locks out whoever else would number an entry.
async fn append_rating(
    connection: &mut AnyConnection,
    id: Uuid,
    rating: Rating,
    comment: Option<String>,
    now: Millis,
) -> Result<bool, Failure> {
    let id = id.to_string();
    let done = sqlx::query("UPDATE debates SET rating = $2, updated_at = $3 WHERE id = $1")
        .bind(id.as_str())
        .bind(i64::from(rating.value()))
        .bind(signed(now))
        .execute(&mut *connection)
        .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    let event = |number| Event::Rated {
        number,
        rating: rating.value(),
        comment,
    };
    append_numbered(connection, &id, "rated", event, now).await?;
    Ok(true)
}

/// Appends an entry of a kind of which there may be several, each with its number, to a debate at rest.
pub(super) async fn append_numbered(
    connection: &mut AnyConnection,
    id: &str,
    kind: &str,
    event: impl FnOnce(u32) -> Event,
    now: Millis,
) -> Result<(), Failure> {
    let last = sqlx::query(
        "SELECT COALESCE(MAX(seq), 0) AS seq, COUNT(CASE WHEN kind = $2 THEN 1 END) AS before \
         FROM journal WHERE debate_id = $1",
    )
    .bind(id)
    .bind(kind)
    .fetch_one(&mut *connection)
    .await?;
    let number = last.try_get::<i64, _>("before")? + 1;
    let event = event(u32::try_from(number).unwrap_or(u32::MAX));
    let keyed = Keyed {
        // It has the same key in every generation.
        key: event.key(0).unwrap_or_default(),
        entry: Entry {
            seq: unsigned(last.try_get("seq")?) + 1,
            at: now,
            event,
        },
    };
    insert(connection, id, &keyed).await?;
    Ok(())
}
