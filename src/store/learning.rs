//! The audit log of what was learned. It is append-only; the current knowledge is derived from all of it.

use std::sync::Arc;

use roundtable_core::learning::Audit;
use roundtable_engine::event::{Event, Millis};
use roundtable_engine::retrospective::{Assessment, Tracked};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::errors::{Failure, Fault, LeaseError, StoreError};
use super::rate::append_numbered;
use super::{Store, signed};

/// Why nothing was learned: the rules of learning reject it, or it cannot be written.
#[derive(Debug)]
pub(crate) enum LearningError<E> {
    Refused(E),
    Lease(LeaseError),
}

impl<E> From<StoreError> for LearningError<E> {
    fn from(error: StoreError) -> Self {
        Self::Lease(error.into())
    }
}

/// The user's report on a debate after its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct FollowUp {
    pub tracked: Vec<Tracked>,
    pub assessment: Option<Assessment>,
}

impl Store {
    /// Oldest first.
    pub(crate) async fn audit(&self) -> Result<Vec<Audit>, StoreError> {
        self.read_all(sqlx::query(SELECT_AUDIT), read_audit).await
    }

    /// Plans entries from the current audit and appends them in the same transaction.
    pub(crate) async fn learn<E>(
        &self,
        plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
    ) -> Result<Vec<Audit>, LearningError<E>> {
        self.write_lessons(None, plan).await
    }

    /// Appends a follow-up to the journal of a debate that no process is running.
    pub(crate) async fn follow_up(
        &self,
        id: Uuid,
        follow_up: FollowUp,
        now: Millis,
    ) -> Result<(), LeaseError> {
        let plan = |_: &[Audit]| Ok::<_, std::convert::Infallible>(Vec::new());
        match self.assess(id, follow_up, plan, now).await {
            Ok(_) => Ok(()),
            Err(LearningError::Lease(error)) => Err(error),
            Err(LearningError::Refused(never)) => match never {},
        }
    }

    /// Like [`Store::follow_up`], and appends what is learned from it in the same transaction.
    pub(crate) async fn assess<E>(
        &self,
        id: Uuid,
        follow_up: FollowUp,
        plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
        now: Millis,
    ) -> Result<Vec<Audit>, LearningError<E>> {
        let lock = self.lock_idle_debate(id).await;
        let Some(_lock) = lock.map_err(LearningError::Lease)? else {
            return Err(LearningError::Lease(LeaseError::Held { id }));
        };
        let done = self.write_lessons(Some((id, &follow_up, now)), plan).await;
        if matches!(done, Err(LearningError::Lease(LeaseError::NotFound { .. }))) {
            self.remove_debate_lock(id);
        }
        done
    }

    async fn write_lessons<E>(
        &self,
        about: Option<(Uuid, &FollowUp, Millis)>,
        plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
    ) -> Result<Vec<Audit>, LearningError<E>> {
        let mut attempt = 1;
        loop {
            let written = async {
                let mut transaction = self.writer.begin().await?;
                let connection = transaction.connection();
                let written = match about {
                    Some((id, follow_up, now)) => {
                        assess(connection, id, follow_up, &plan, now).await
                    }
                    None => learn(connection, &plan).await,
                };
                transaction.finish(written).await
            };
            match written.await {
                Err(failure) if failure.fault == Fault::Duplicate && attempt < MAX_ATTEMPTS => {
                    attempt += 1;
                }
                written => return written.map_err(|failure| self.failed(failure))?,
            }
        }
    }
}

/// On a server two processes may plan an entry with the same number; the second plans again with the first's entry.
const MAX_ATTEMPTS: u32 = 5;

/// A refusal writes nothing, so its transaction may be committed.
async fn learn<E>(
    connection: &mut AnyConnection,
    plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
) -> Result<Result<Vec<Audit>, LearningError<E>>, Failure> {
    let current = audit(connection).await?;
    let new = match plan(&current) {
        Ok(new) => new,
        Err(refusal) => return Ok(Err(LearningError::Refused(refusal))),
    };
    for entry in &new {
        append(connection, entry).await?;
    }
    Ok(Ok(new))
}

async fn assess<E>(
    connection: &mut AnyConnection,
    id: Uuid,
    follow_up: &FollowUp,
    plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
    now: Millis,
) -> Result<Result<Vec<Audit>, LearningError<E>>, Failure> {
    let found = sqlx::query("SELECT id FROM debates WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(&mut *connection)
        .await?;
    if found.is_none() {
        return Ok(Err(LearningError::Lease(LeaseError::NotFound { id })));
    }
    let learned = learn(connection, plan).await?;
    if learned.is_err() {
        return Ok(learned);
    }
    let id = id.to_string();
    sqlx::query("UPDATE debates SET updated_at = $2 WHERE id = $1")
        .bind(id.as_str())
        .bind(signed(now))
        .execute(&mut *connection)
        .await?;
    for tracked in &follow_up.tracked {
        let event = |number| Event::Tracked {
            number,
            tracked: Arc::new(tracked.clone()),
        };
        append_numbered(connection, &id, "tracked", event, now).await?;
    }
    if let Some(assessment) = &follow_up.assessment {
        let event = |number| Event::Assessed {
            number,
            assessment: Arc::new(assessment.clone()),
        };
        append_numbered(connection, &id, "assessed", event, now).await?;
    }
    Ok(learned)
}

const SELECT_AUDIT: &str = "SELECT number, body FROM learning ORDER BY number";

async fn audit(connection: &mut AnyConnection) -> Result<Vec<Audit>, Failure> {
    let rows = sqlx::query(SELECT_AUDIT).fetch_all(connection).await?;
    rows.iter().map(read_audit).collect()
}

fn read_audit(row: &AnyRow) -> Result<Audit, Failure> {
    let number: i64 = row.try_get("number")?;
    serde_json::from_str(row.try_get("body")?).map_err(|error| {
        Failure::unreadable(format!("entry {number} of the learning audit: {error}"))
    })
}

async fn append(connection: &mut AnyConnection, entry: &Audit) -> Result<(), Failure> {
    let body = serde_json::to_string(entry).map_err(|error| {
        Failure::unreadable(format!(
            "entry {} of the learning audit: {error}",
            entry.number
        ))
    })?;
    sqlx::query(
        "INSERT INTO learning (number, at, domain, kind, body) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(signed(entry.number))
    .bind(signed(entry.at))
    .bind(entry.domain.name().to_owned())
    .bind(entry.change.name())
    .bind(body)
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
#[path = "learning_tests.rs"]
mod tests;
