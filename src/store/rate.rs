//! User ratings of a debate, kept in its journal next to the judge's score (P-08).

use std::ops::RangeInclusive;

use roundtable_engine::event::{Entry, Event, Millis, State};
use roundtable_engine::journal::Keyed;
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Row};
use uuid::Uuid;

use super::errors::{Failure, LeaseError};
use super::journal::insert;
use super::location::DebateLock;
use super::{Store, signed, unsigned};

/// Uses the same scale as the judge's score.
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
    /// The last rating counts; earlier ones stay in the journal.
    ///
    /// The process that runs a debate numbers its entries, so a rating needs the lock.
    pub(crate) async fn rate(
        &self,
        id: Uuid,
        rating: Rating,
        comment: Option<String>,
        now: Millis,
    ) -> Result<(), LeaseError> {
        let update = sqlx::query("UPDATE debates SET rating = $2, updated_at = $3 WHERE id = $1")
            .bind(id.to_string())
            .bind(i64::from(rating.value()))
            .bind(signed(now));
        let event = |number| Event::Rated {
            number,
            rating: rating.value(),
            comment,
        };
        self.annotate(id, update, "rated", event, now).await
    }

    /// Updates the row of a debate that no process runs, and appends a numbered entry to its journal. The update comes first:
    /// it locks out other writers that number entries.
    pub(super) async fn annotate(
        &self,
        id: Uuid,
        update: Query<'_, Any, AnyArguments>,
        kind: &str,
        event: impl FnOnce(u32) -> Event,
        now: Millis,
    ) -> Result<(), LeaseError> {
        let Some(_lock) = self.lock_idle_debate(id).await? else {
            return Err(LeaseError::Held { id });
        };
        let appended = async {
            let mut transaction = self.writer.begin().await?;
            let appended = append(transaction.connection(), id, update, kind, event, now).await;
            transaction.finish(appended).await
        };
        if self.run(appended).await? {
            Ok(())
        } else {
            self.remove_debate_lock(id);
            Err(LeaseError::NotFound { id })
        }
    }

    /// Locks a debate that no process runs. If it has ended or waits for a person, waits for the process that holds it.
    pub(super) async fn lock_idle_debate(
        &self,
        id: Uuid,
    ) -> Result<Option<DebateLock>, LeaseError> {
        if let Some(lock) = self.try_lock_debate(id).await? {
            return Ok(Some(lock));
        }
        let is_idle = self
            .get(id)
            .await?
            .is_some_and(|debate| !matches!(debate.state, State::Queued | State::Running));
        if is_idle {
            Ok(self.lock_debate(id).await?)
        } else {
            Ok(None)
        }
    }
}

/// `false` if there is no such debate.
async fn append(
    connection: &mut AnyConnection,
    id: Uuid,
    update: Query<'_, Any, AnyArguments>,
    kind: &str,
    event: impl FnOnce(u32) -> Event,
    now: Millis,
) -> Result<bool, Failure> {
    let is_found = update.execute(&mut *connection).await?.rows_affected() > 0;
    if is_found {
        append_numbered(connection, &id.to_string(), kind, event, now).await?;
    }
    Ok(is_found)
}

/// Appends an entry of a kind that is numbered separately, such as ratings. The caller holds the debate's lock.
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
        // Its key is the same in every generation.
        key: event.key(0).unwrap_or_default(),
        entry: Entry {
            seq: unsigned(last.try_get("seq")?) + 1,
            at: now,
            event,
        },
    };
    insert(connection, id, &keyed).await
}
