//! Queries for debates and their journals (C-14).
//!
//! A listing has a bounded cost: it uses an index unless it searches, returns the beginning of each question, and counts up to
//! [`MAX_COUNTED`]. Searches run one at a time, so that they leave connections for everything else. Their
//! statements look at a bounded number of debates each, none is started after a deadline, and each has a time limit, like every
//! read.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use roundtable_engine::event::{Entry, Millis, Setup, State};
use serde::Serialize;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, Row};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::conditions::Conditions;
use super::errors::{Failure, FindError, StoreError};
use super::row::{DebateRow, parse_id, select_debates};
use super::{Store, signed, unsigned};

/// How many matches an ambiguous id lists.
const MAX_CANDIDATES: usize = 5;

/// The length of a question in a listing. The debate itself has all of it.
pub(super) const MAX_LISTED_QUESTION: usize = 500;
/// The beginning of a question that a search looks at.
pub(super) const MAX_SEARCHED_CHARS: usize = 10_000;
/// The maximum length of [`Filter::search`].
pub(crate) const MAX_SEARCH_CHARS: usize = 200;
/// Debates are counted up to this number.
pub(crate) const MAX_COUNTED: u64 = 10_000;
/// The bounds of a search.
#[derive(Debug, Clone, Copy)]
struct SearchBounds {
    /// The number of debates that one statement looks at.
    window: u32,
    /// No statement is started after this time.
    time: Duration,
}

const SEARCH_BOUNDS: SearchBounds = SearchBounds {
    window: 1_000,
    time: Duration::from_secs(5),
};

/// Journals of this many bytes and more are parsed on the blocking pool.
const MAX_PARSED_INLINE: usize = 100_000;
/// How long a search waits for another one to end.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The running search, and those that wait for it.
#[derive(Debug)]
pub(super) struct Searches {
    permits: Semaphore,
    tasks: TaskTracker,
}

impl Default for Searches {
    fn default() -> Self {
        Self {
            permits: Semaphore::new(1),
            tasks: TaskTracker::new(),
        }
    }
}

/// Which debates to list; by default all, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    pub state: Option<State>,
    pub protocol: Option<String>,
    /// Only debates with this tag.
    pub tag: Option<String>,
    /// Only pinned debates.
    pub is_pinned: bool,
    /// A substring of the question or of the answer, of at most [`MAX_SEARCH_CHARS`] characters; ASCII case is ignored.
    pub search: Option<String>,
    /// Created at this time or later.
    pub since: Option<Millis>,
    /// Created before this time.
    pub until: Option<Millis>,
    /// Only debates after this position.
    pub after: Option<ListPosition>,
    /// Only debates up to this position, and it.
    pub through: Option<ListPosition>,
    /// Only debates of this token.
    pub token: Option<Uuid>,
    pub limit: u32,
    pub offset: u64,
}

/// The position of a debate in the listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListPosition {
    pub created_at: Millis,
    pub id: Uuid,
}

impl ListPosition {
    fn of(row: &DebateRow) -> Self {
        Self {
            created_at: row.created_at,
            id: row.id,
        }
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            state: None,
            protocol: None,
            tag: None,
            is_pinned: false,
            search: None,
            since: None,
            until: None,
            after: None,
            through: None,
            token: None,
            limit: u32::MAX,
            offset: 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Page {
    /// With shortened questions.
    pub debates: Vec<DebateRow>,
    /// The number of debates on all pages, at most [`MAX_COUNTED`].
    pub total: u64,
}

impl Store {
    /// Finds a debate by id or unambiguous id prefix; `last` is the newest debate.
    pub(crate) async fn find(&self, wanted: &str) -> Result<DebateRow, FindError> {
        if wanted == "last" {
            return self.latest().await?.ok_or(FindError::Empty);
        }
        let prefix = wanted.to_ascii_lowercase();
        let is_id_prefix = prefix
            .chars()
            .all(|character| character.is_ascii_hexdigit() || character == '-');
        let found = if prefix.is_empty() || !is_id_prefix {
            Vec::new()
        } else {
            self.with_prefix(&prefix).await?
        };
        let wanted = wanted.to_owned();
        match found.as_slice() {
            [] => Err(FindError::NotFound { wanted }),
            [only] => Ok(self.shown(only.clone()).await?),
            _ => Err(FindError::Ambiguous {
                wanted,
                candidates: found,
            }),
        }
    }

    pub(crate) async fn get(&self, id: Uuid) -> Result<Option<DebateRow>, StoreError> {
        let query = sqlx::query(select_debates!("WHERE id = $1")).bind(id.to_string());
        self.read_optional(query, DebateRow::read).await
    }

    pub(crate) async fn latest(&self) -> Result<Option<DebateRow>, StoreError> {
        let query = sqlx::query(select_debates!("ORDER BY created_at DESC, id DESC LIMIT 1"));
        match self.read_optional(query, DebateRow::read).await? {
            Some(row) => Ok(Some(self.shown(row).await?)),
            None => Ok(None),
        }
    }

    /// The number of all debates.
    pub(crate) async fn count(&self) -> Result<u64, StoreError> {
        self.read_number(sqlx::query("SELECT COUNT(*) AS total FROM debates"))
            .await
    }

    /// The whole journal of a debate; empty if there is no such debate.
    pub(crate) async fn entries(&self, id: Uuid) -> Result<Vec<Entry>, StoreError> {
        self.entries_after(id, 0).await
    }

    /// The setup of a debate; known before its first entry.
    pub(crate) async fn setup(&self, id: Uuid) -> Result<Option<Setup>, StoreError> {
        let query = sqlx::query("SELECT setup FROM debates WHERE id = $1").bind(id.to_string());
        self.read_optional(query, |row| read_setup(id, row)).await
    }

    /// The ids of all debates, oldest first.
    pub(crate) async fn ids(&self) -> Result<Vec<Uuid>, StoreError> {
        self.select_ids("SELECT id FROM debates ORDER BY created_at, id")
            .await
    }

    pub(super) async fn select_ids(&self, sql: &'static str) -> Result<Vec<Uuid>, StoreError> {
        let read = |row: &AnyRow| parse_id(row.try_get("id")?);
        self.read_all(sqlx::query(sql), read).await
    }

    /// `prefix` must not contain wildcards of LIKE.
    async fn with_prefix(&self, prefix: &str) -> Result<Vec<DebateRow>, StoreError> {
        let query = sqlx::query(select_debates!(
            "WHERE id LIKE $1 ORDER BY created_at DESC, id DESC LIMIT $2"
        ))
        .bind(format!("{prefix}%"))
        .bind(signed(MAX_CANDIDATES as u64));
        self.read_all(query, DebateRow::read).await
    }

    pub(crate) async fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        if filter.search.is_none() {
            return self.list_now(filter).await;
        }
        let (store, filter) = (self.clone(), filter.clone());
        // In a task: SQLite continues a query whose caller is gone, and the next search must not start before it ends.
        let searching = self.searches.tasks.spawn(async move {
            let permit = tokio::time::timeout(SEARCH_TIMEOUT, store.searches.permits.acquire());
            let Ok(Ok(_permit)) = permit.await else {
                let detail = "another search is running; retry later";
                return Err(store.failed(Failure::other(detail)));
            };
            store.search(&filter, SEARCH_BOUNDS).await
        });
        searching
            .await
            .unwrap_or_else(|_| Err(self.failed(Failure::abandoned())))
    }

    /// Looks at one window of debates after the other, newest first.
    async fn search(&self, filter: &Filter, bounds: SearchBounds) -> Result<Page, StoreError> {
        let started = Instant::now();
        let dead = self.dead_debates().await?;
        let (mut debates, mut total, mut skipped) = (Vec::new(), 0, 0);
        let mut window = Filter {
            after: None,
            limit: bounds.window,
            offset: 0,
            ..filter.clone()
        };
        loop {
            let last = Filter {
                search: None,
                through: None,
                limit: 1,
                offset: u64::from(bounds.window) - 1,
                ..window.clone()
            };
            let last = self.listed_rows(&last, &dead).await?.pop();
            window.through = last.as_ref().map(ListPosition::of);
            for row in self.listed_rows(&window, &dead).await? {
                total += 1;
                if filter
                    .after
                    .is_some_and(|after| ListPosition::of(&row) >= after)
                {
                    continue;
                }
                if skipped < filter.offset {
                    skipped += 1;
                } else if u64::from(filter.limit) > debates.len() as u64 {
                    debates.push(row);
                }
            }
            let is_full = debates.len() as u64 >= u64::from(filter.limit);
            if window.through.is_none() || (is_full && total >= MAX_COUNTED) {
                let total = total.min(MAX_COUNTED);
                return Ok(Page { debates, total });
            }
            if started.elapsed() >= bounds.time {
                let detail = "the search took too long: narrow it by time, state or protocol";
                return Err(self.failed(Failure::other(detail)));
            }
            window.after = window.through;
        }
    }

    async fn list_now(&self, filter: &Filter) -> Result<Page, StoreError> {
        let dead = self.dead_debates().await?;
        let debates = self.listed_rows(filter, &dead).await?;
        let conditions = Conditions::of(filter, &dead, self.writer.dialect());
        let total = format!(
            "SELECT COUNT(*) AS total FROM (SELECT 1 AS one FROM debates {} LIMIT {MAX_COUNTED}) AS counted",
            conditions.clause
        );
        let total = self.read_number(conditions.bind(&total)).await?;
        Ok(Page { debates, total })
    }

    /// Like [`Store::list`], without the number of debates.
    pub(crate) async fn list_uncounted(
        &self,
        filter: &Filter,
    ) -> Result<Vec<DebateRow>, StoreError> {
        let dead = self.dead_debates().await?;
        self.listed_rows(filter, &dead).await
    }

    async fn listed_rows(
        &self,
        filter: &Filter,
        dead: &HashSet<Uuid>,
    ) -> Result<Vec<DebateRow>, StoreError> {
        let (sql, conditions) = Conditions::of(filter, dead, self.writer.dialect()).rows(filter);
        let mut debates = self
            .read_all(conditions.bind(&sql), DebateRow::read)
            .await?;
        for row in &mut debates {
            if row.state == State::Running && dead.contains(&row.id) {
                row.state = State::Interrupted;
            }
            shorten(&mut row.question);
        }
        Ok(debates)
    }

    /// The journal of a debate after the entry `seq`.
    pub(crate) async fn entries_after(&self, id: Uuid, seq: u64) -> Result<Vec<Entry>, StoreError> {
        let query = sqlx::query(
            "SELECT seq, at, body FROM journal WHERE debate_id = $1 AND seq > $2 ORDER BY seq",
        )
        .bind(id.to_string())
        .bind(signed(seq));
        let rows = self.rows(query).await;
        let rows = rows.map_err(|error| self.failed(error))?;
        let length = |row: &AnyRow| row.try_get::<&str, _>("body").map_or(0, str::len);
        let is_small = rows.iter().map(length).sum::<usize>() < MAX_PARSED_INLINE;
        let read = move || rows.iter().map(|row| read_entry(id, row)).collect();
        let read: Result<Vec<Entry>, Failure> = if is_small {
            read()
        } else {
            // On a thread of the runtime, a large journal would hold up other requests.
            let parsed = tokio::task::spawn_blocking(read).await;
            parsed.unwrap_or_else(|_| Err(Failure::abandoned()))
        };
        read.map_err(|failure| self.failed(failure))
    }

    /// The rows of a query.
    pub(super) async fn read_all<T>(
        &self,
        query: Query<'_, Any, AnyArguments>,
        read: impl FnMut(&AnyRow) -> Result<T, Failure>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(query).await;
        rows.map_err(Failure::from)
            .and_then(|rows| rows.iter().map(read).collect())
            .map_err(|failure| self.failed(failure))
    }

    /// The only row of a query, if it has one.
    pub(super) async fn read_optional<T>(
        &self,
        query: Query<'_, Any, AnyArguments>,
        read: impl FnOnce(&AnyRow) -> Result<T, Failure>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.rows(query).await;
        rows.map_err(Failure::from)
            .and_then(|rows| rows.first().map(read).transpose())
            .map_err(|failure| self.failed(failure))
    }

    /// The number that a query with one column returns.
    pub(super) async fn read_number(
        &self,
        query: Query<'_, Any, AnyArguments>,
    ) -> Result<u64, StoreError> {
        let rows = self.rows(query).await;
        rows.and_then(|rows| rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0))
            .map(unsigned)
            .map_err(|error| self.failed(error))
    }

    /// Every read, except those of whole stores.
    async fn rows(&self, query: Query<'_, Any, AnyArguments>) -> Result<Vec<AnyRow>, sqlx::Error> {
        self.count_read();
        match &self.file_readers {
            Some(readers) => readers.fetch_all(query).await,
            None => query.fetch_all(&self.reader).await,
        }
    }

    /// For tests that bound the number of queries.
    #[cfg_attr(
        not(test),
        expect(clippy::unused_self, reason = "counts in tests only")
    )]
    pub(super) fn count_read(&self) {
        #[cfg(test)]
        self.reads
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// The column `setup` of a debate's row.
pub(super) fn read_setup(id: Uuid, row: &AnyRow) -> Result<Setup, Failure> {
    serde_json::from_str(row.try_get("setup")?)
        .map_err(|error| Failure::unreadable(format!("the setup of debate {id}: {error}")))
}

pub(super) fn shorten(question: &mut String) {
    let cut = question.char_indices().nth(MAX_LISTED_QUESTION);
    if let Some((end, _)) = cut {
        question.truncate(end);
        question.push('…');
    }
}

/// An entry of a debate's journal, from the columns `seq`, `at` and `body`.
pub(super) fn read_entry(id: Uuid, row: &AnyRow) -> Result<Entry, Failure> {
    let seq = unsigned(row.try_get("seq")?);
    let event = serde_json::from_str(row.try_get("body")?)
        .map_err(|error| Failure::unreadable(format!("entry {seq} of debate {id}: {error}")))?;
    let at = unsigned(row.try_get("at")?);
    Ok(Entry { seq, at, event })
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
