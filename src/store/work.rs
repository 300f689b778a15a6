//! Debates that wait for somebody to run them, where any number of processes on any machines do (B-04).
//!
//! The rows of the debates are the queue: a debate is to be run while its state says so and its owner is dead or nobody. There is
//! no second record of that which could say something else.

use roundtable_engine::event::{Millis, Setup, State};
use roundtable_engine::table::Budget;
use sqlx::Row;
use sqlx::postgres::PgListener;
use uuid::Uuid;

use super::claim::{By, Made};
use super::dialect::server_now;
use super::errors::{ClaimError, Failure, Fault, StoreError};
use super::home::{Held, Home};
use super::ownership::Lease;
use super::row::parse_id;
use super::{Claim, Created, DebateRow, Sent, Store, signed, unsigned};

const JOURNAL: &str = "roundtable_journal";
const WORK: &str = "roundtable_work";

/// Something has happened in the store, here or on another machine. It carries no content: whoever cares looks for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// This debate has new entries.
    Entries(Uuid),
    /// There is a debate to be run, or something is wanted of one.
    Work,
    /// Some may have been missed.
    Gap,
}

/// News as they come.
pub(crate) struct Listening {
    listener: PgListener,
}

impl Listening {
    pub(crate) async fn next(&mut self) -> Result<News, StoreError> {
        match self.listener.try_recv().await {
            Ok(Some(told)) if told.channel() == JOURNAL => {
                Ok(told.payload().parse().map_or(News::Gap, News::Entries))
            }
            Ok(Some(_)) => Ok(News::Work),
            Ok(None) => Ok(News::Gap),
            Err(error) => Err(StoreError::Server {
                database: "the server".into(),
                detail: error.to_string(),
            }),
        }
    }
}

impl Store {
    /// `None` where nobody else could have news: everything happens in this process, or is looked for.
    pub(crate) async fn listen(&self) -> Result<Option<Listening>, StoreError> {
        let Home::Server { url, .. } = &*self.home else {
            return Ok(None);
        };
        let listening = async {
            let mut listener = PgListener::connect(url.expose()).await?;
            listener.listen_all([JOURNAL, WORK]).await?;
            Ok::<_, sqlx::Error>(listener)
        };
        let listener = listening.await.map_err(|error| self.failed(error.into()))?;
        Ok(Some(Listening { listener }))
    }

    /// Tells all who could run debates that there is something for them. They look now and then in any case.
    pub(crate) async fn call_for_work(&self) -> Result<(), StoreError> {
        if !self.is_shared() {
            return Ok(());
        }
        let called = sqlx::query("SELECT CAST(pg_notify($1, '') AS text) AS told")
            .bind(WORK)
            .fetch_one(&self.reader)
            .await;
        called.map(drop).map_err(|error| self.failed(error.into()))
    }

    /// A new debate that whoever comes first is to run.
    pub(crate) async fn create_for_anybody(
        &self,
        id: Uuid,
        setup: &Setup,
        now: Millis,
        sent: &Sent,
    ) -> Result<Created, StoreError> {
        let made = Made {
            state: State::Queued,
            owner: "",
            served: Some(sent),
        };
        match self.insert_debate(id, setup, now, made).await {
            Ok(_) => {
                self.call_for_work().await?;
                Ok(Created::Before(id))
            }
            Err(failure) if failure.fault == Fault::Taken => {
                self.made_by(sent).await?.ok_or(StoreError::Exists { id })
            }
            Err(failure) => Err(self.failed(failure)),
        }
    }

    /// How many debates wait for somebody.
    pub(crate) async fn waiting_for_anybody(&self) -> Result<u64, StoreError> {
        let counted = sqlx::query(
            "SELECT COUNT(*) AS waiting FROM debates WHERE served = 1 AND state = 'queued' AND owner = ''",
        )
        .fetch_one(&self.reader)
        .await;
        counted
            .and_then(|row| row.try_get::<i64, _>("waiting"))
            .map(unsigned)
            .map_err(|error| self.failed(error.into()))
    }

    /// How many wait for somebody longer than this one.
    pub(crate) async fn waiting_before(&self, debate: &DebateRow) -> Result<u64, StoreError> {
        let counted = sqlx::query(
            "SELECT COUNT(*) AS waiting FROM debates WHERE served = 1 AND state = 'queued' AND owner = '' \
             AND (created_at < $1 OR (created_at = $1 AND id < $2))",
        )
        .bind(signed(debate.created_at))
        .bind(debate.id.to_string())
        .fetch_one(&self.reader)
        .await;
        counted
            .and_then(|row| row.try_get::<i64, _>("waiting"))
            .map(unsigned)
            .map_err(|error| self.failed(error.into()))
    }

    /// Claims up to `most` debates that nobody living runs, those that have waited longest first. Two who ask at the same time
    /// get different ones.
    pub(crate) async fn take_work(&self, most: usize) -> Result<Vec<Claim>, ClaimError> {
        let ids = self.take_ids(most).await;
        let held = ids.map_err(|failure| self.failed(failure))?;
        let mut claims = Vec::with_capacity(held.len());
        for (id, held) in held {
            match self.claim_held(id, By::Server, held).await {
                Ok(claim) => claims.push(claim),
                Err(error @ ClaimError::Store(_)) if claims.is_empty() => return Err(error),
                // Deleted, somebody else's by now, or nothing to make a fuss about: it is free again.
                Err(
                    ClaimError::NotFound { .. } | ClaimError::Held { .. } | ClaimError::Store(_),
                ) => {}
            }
        }
        Ok(claims)
    }

    async fn take_ids(&self, most: usize) -> Result<Vec<(Uuid, Held)>, Failure> {
        let Home::Server { ownership, .. } = &*self.home else {
            return Ok(Vec::new());
        };
        let owner = ownership.owner().await?;
        let taking = sqlx::query(concat!(
            "WITH free AS MATERIALIZED (SELECT id FROM debates WHERE served = 1 AND state IN ('queued', 'running') \
             AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
            server_now!(),
            ") ORDER BY created_at, id LIMIT $2 FOR UPDATE SKIP LOCKED) \
             UPDATE debates SET owner = $1, epoch = epoch + 1 FROM free WHERE debates.id = free.id RETURNING debates.id"
        ))
        .bind(owner.id().to_owned())
        .bind(signed(most as u64));
        let place = self.writer.turn().await;
        let rows = self.writer.at_once(place, taking).await?;
        let read = |row: &sqlx::any::AnyRow| {
            let id = parse_id(row.try_get("id")?)?;
            Ok((id, Held::Lease(Lease::new(id, owner.clone()))))
        };
        rows.iter().map(read).collect()
    }

    /// What a debate is to go on with, where that is another budget than it was opened with.
    pub(crate) async fn budget(&self, id: Uuid) -> Result<Option<Budget>, StoreError> {
        let row = sqlx::query("SELECT budget FROM debates WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.reader)
            .await;
        let read = |row: sqlx::any::AnyRow| -> Result<Option<Budget>, Failure> {
            match row.try_get("budget")? {
                "" => Ok(None),
                text => serde_json::from_str(text).map(Some).map_err(|error| {
                    Failure::unreadable(format!("the budget of debate {id}: {error}"))
                }),
            }
        };
        row.map_err(Failure::from)
            .and_then(|row| Ok(row.map(read).transpose()?.flatten()))
            .map_err(|failure| self.failed(failure))
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
