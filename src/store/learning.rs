//! The audit log of what was learned. It is append-only; the current knowledge is derived from all of it.

use std::sync::Arc;

use roundtable_core::learning::Audit;
use roundtable_engine::event::{Event, Millis};
use roundtable_engine::retrospective::{Assessment, Tracked};
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

/// What the user reports about a debate afterwards.
#[derive(Debug, Clone, Default)]
pub(crate) struct FollowUp {
    pub tracked: Vec<Tracked>,
    pub assessment: Option<Assessment>,
}

impl Store {
    /// Oldest first.
    pub(crate) async fn audit(&self) -> Result<Vec<Audit>, StoreError> {
        let read = async {
            let mut connection = self.reader.acquire().await?;
            audit(&mut connection).await
        };
        read.await.map_err(|failure: Failure| self.failed(failure))
    }

    /// Plans entries from the current audit and appends them in the same transaction.
    pub(crate) async fn learn<E>(
        &self,
        plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
    ) -> Result<Vec<Audit>, LearningError<E>> {
        let mut attempts = MAX_ATTEMPTS;
        let done = loop {
            let done = self.learn_once(&plan).await;
            attempts -= 1;
            if attempts == 0 || !is_duplicate(&done) {
                break done;
            }
        };
        let done = done.map_err(|failure| self.failed(failure))?;
        done.map_err(LearningError::Refused)
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
        let mut attempts = MAX_ATTEMPTS;
        let done = loop {
            let done = self.assess_once(id, &follow_up, &plan, now).await;
            attempts -= 1;
            if attempts == 0 || !is_duplicate(&done) {
                break done;
            }
        };
        let done = done.map_err(|failure| self.failed(failure))?;
        let Some(done) = done else {
            self.remove_debate_lock(id);
            return Err(LearningError::Lease(LeaseError::NotFound { id }));
        };
        done.map_err(LearningError::Refused)
    }

    async fn learn_once<E>(
        &self,
        plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
    ) -> Result<Result<Vec<Audit>, E>, Failure> {
        let mut transaction = self.writer.begin().await?;
        let done = learn(transaction.connection(), plan).await;
        transaction.finish(done).await
    }

    async fn assess_once<E>(
        &self,
        id: Uuid,
        follow_up: &FollowUp,
        plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
        now: Millis,
    ) -> Result<Option<Result<Vec<Audit>, E>>, Failure> {
        let mut transaction = self.writer.begin().await?;
        let done = assess(transaction.connection(), id, follow_up, plan, now).await;
        transaction.finish(done).await
    }
}

/// On a server two processes may plan an entry with the same number; the second plans again with the first's entry.
const MAX_ATTEMPTS: u32 = 5;

fn is_duplicate<T>(done: &Result<T, Failure>) -> bool {
    done.as_ref()
        .is_err_and(|failure| failure.fault == Fault::Duplicate)
}

/// A refusal writes nothing, so its transaction may be committed.
async fn learn<E>(
    connection: &mut AnyConnection,
    plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
) -> Result<Result<Vec<Audit>, E>, Failure> {
    let current = audit(connection).await?;
    let new = match plan(&current) {
        Ok(new) => new,
        Err(refusal) => return Ok(Err(refusal)),
    };
    for entry in &new {
        append(connection, entry).await?;
    }
    Ok(Ok(new))
}

/// `None` if there is no such debate.
async fn assess<E>(
    connection: &mut AnyConnection,
    id: Uuid,
    follow_up: &FollowUp,
    plan: impl Fn(&[Audit]) -> Result<Vec<Audit>, E>,
    now: Millis,
) -> Result<Option<Result<Vec<Audit>, E>>, Failure> {
    let id = id.to_string();
    let found = sqlx::query("SELECT id FROM debates WHERE id = $1")
        .bind(id.as_str())
        .fetch_optional(&mut *connection)
        .await?;
    if found.is_none() {
        return Ok(None);
    }
    let new = match learn(connection, plan).await? {
        Ok(new) => new,
        Err(refusal) => return Ok(Some(Err(refusal))),
    };
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
    Ok(Some(Ok(new)))
}

async fn audit(connection: &mut AnyConnection) -> Result<Vec<Audit>, Failure> {
    let rows = sqlx::query("SELECT number, body FROM learning ORDER BY number")
        .fetch_all(connection)
        .await?;
    let entries = rows.iter().map(|row| {
        let number: i64 = row.try_get("number")?;
        let body: &str = row.try_get("body")?;
        serde_json::from_str(body).map_err(|error| {
            Failure::unreadable(format!("entry {number} of the learning audit: {error}"))
        })
    });
    entries.collect()
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
