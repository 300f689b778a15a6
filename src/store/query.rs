//! Queries for debates and their journals (C-14).
//!
//! A listing has a bounded cost: it uses an index unless it searches, returns the beginning of each question, and counts up to
//! [`MAX_COUNTED`]. Searches run one at a time, so that they leave connections for everything else. Their
//! statements look at a bounded number of debates each, and none is started after a deadline: in SQLite a statement has no time
//! limit.

use std::collections::HashSet;
use std::fmt::Write;
use std::time::{Duration, Instant};

use roundtable_engine::event::{Entry, Millis, Setup, State};
use serde::Serialize;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Row};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::dialect::Dialect;
use super::errors::{Failure, FindError, StoreError};
use super::row::{DebateRow, parse_id, select_debates};
use super::{Store, signed, unsigned};

/// How many matches an ambiguous id lists.
const MAX_CANDIDATES: usize = 5;

/// The length of a question in a listing. The debate itself has all of it.
const MAX_LISTED_QUESTION: usize = 500;
/// The beginning of a question that a search looks at.
const MAX_SEARCHED_CHARS: usize = 10_000;
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
        self.count_read();
        let rows = query.fetch_all(&self.reader).await;
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
        self.count_read();
        let rows = query.fetch_all(&self.reader).await;
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
        self.count_read();
        let row = query.fetch_optional(&self.reader).await;
        row.map_err(Failure::from)
            .and_then(|row| row.as_ref().map(read).transpose())
            .map_err(|failure| self.failed(failure))
    }

    /// The number that a query with one column returns.
    pub(super) async fn read_number(
        &self,
        query: Query<'_, Any, AnyArguments>,
    ) -> Result<u64, StoreError> {
        self.count_read();
        let row = query.fetch_one(&self.reader).await;
        row.and_then(|row| row.try_get::<i64, _>(0))
            .map(unsigned)
            .map_err(|error| self.failed(error))
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

/// The conditions of a listing: only those that it has, so that the database can use an index.
#[derive(Default)]
struct Conditions {
    /// Empty, or `WHERE …`.
    clause: String,
    values: Vec<Value>,
}

enum Value {
    Text(String),
    Number(i64),
}

impl Conditions {
    fn of(filter: &Filter, dead: &HashSet<Uuid>, dialect: Dialect) -> Self {
        let mut all = Self::default();
        all.set(filter, dead, dialect);
        all
    }

    /// Replaces the clause. The values of earlier ones stay, for a statement with several parts.
    fn set(&mut self, filter: &Filter, dead: &HashSet<Uuid>, dialect: Dialect) {
        self.clause.clear();
        if let Some(state) = filter.state {
            self.and_state(state, dead);
        }
        if let Some(protocol) = &filter.protocol {
            let protocol = self.value(Value::Text(protocol.clone()));
            self.and(&format!("protocol = {protocol}"));
        }
        if let Some(token) = filter.token {
            let token = self.value(Value::Text(token.to_string()));
            self.and(&format!("token_id = {token}"));
        }
        if let Some(since) = filter.since {
            let since = self.value(Value::Number(signed(since)));
            self.and(&format!("created_at >= {since}"));
        }
        if let Some(until) = filter.until {
            let until = self.value(Value::Number(signed(until)));
            self.and(&format!("created_at < {until}"));
        }
        if let Some(tag) = &filter.tag {
            let tag = self.value(Value::Text(tag.replace('\0', "\u{fffd}")));
            self.and(&format!(
                "EXISTS (SELECT 1 FROM tags WHERE tags.debate_id = debates.id AND tags.tag = {tag})"
            ));
        }
        if filter.is_pinned {
            self.and("EXISTS (SELECT 1 FROM pins WHERE pins.debate_id = debates.id)");
        }
        if let Some(text) = &filter.search {
            let in_json = self.value(Value::Text(in_json(text)));
            let text = self.value(Value::Text(text.replace('\0', "\u{fffd}")));
            let position = dialect.position();
            self.and(&format!(
                "({position}(lower(substr(question, 1, {MAX_SEARCHED_CHARS})), lower({text})) > 0 \
                 OR EXISTS (SELECT 1 FROM journal WHERE journal.debate_id = debates.id AND journal.kind = 'ended' \
                 AND {position}(lower(substr(journal.body, 1, {MAX_SEARCHED_CHARS})), lower({in_json})) > 0))"
            ));
        }
    }

    /// The query for the rows of a page.
    fn rows(mut self, filter: &Filter) -> (String, Self) {
        for (position, comparison) in [(filter.after, "<"), (filter.through, ">=")] {
            if let Some(position) = position {
                let created_at = self.value(Value::Number(signed(position.created_at)));
                let id = self.value(Value::Text(position.id.to_string()));
                self.and(&format!(
                    "(created_at, id) {comparison} ({created_at}, {id})"
                ));
            }
        }
        let limit = self.value(Value::Number(i64::from(filter.limit)));
        let offset = self.value(Value::Number(signed(filter.offset)));
        // One character more than is shown, to know whether the question was cut.
        let sql = format!(
            "SELECT id, protocol, substr(question, 1, {}) AS question, state, created_at, updated_at, ended_at, calls, \
             retries, input_tokens, output_tokens, cached_tokens, cost_usd, cost_known, rating, served, token_id, parent_id FROM debates {} \
             ORDER BY created_at DESC, id DESC LIMIT {limit} OFFSET {offset}",
            MAX_LISTED_QUESTION + 1,
            self.clause
        );
        (sql, self)
    }

    /// Running debates that nothing runs any more match the state `interrupted`.
    fn and_state(&mut self, state: State, dead: &HashSet<Uuid>) {
        let name = self.value(Value::Text(state.name().into()));
        if dead.is_empty() || !matches!(state, State::Running | State::Interrupted) {
            return self.and(&format!("state = {name}"));
        }
        let dead: Vec<String> = dead.iter().map(Uuid::to_string).collect();
        let dead = self.value(Value::Text(dead.join(" ")));
        if state == State::Running {
            self.and(&format!(
                "state = {name} AND {dead} NOT LIKE '%' || id || '%'"
            ));
        } else {
            self.and(&format!(
                "(state = {name} OR (state = 'running' AND {dead} LIKE '%' || id || '%'))"
            ));
        }
    }

    fn and(&mut self, condition: &str) {
        let word = if self.clause.is_empty() {
            "WHERE"
        } else {
            "AND"
        };
        let space = if self.clause.is_empty() { "" } else { " " };
        // Writing to a String cannot fail.
        let _ = write!(self.clause, "{space}{word} {condition}");
    }

    /// The placeholder of a value.
    fn value(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    /// The SQL consists of our own words and placeholders.
    fn bind(self, sql: &str) -> Query<'static, Any, AnyArguments> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        self.values
            .into_iter()
            .fold(query, |query, value| match value {
                Value::Text(text) => query.bind(text),
                Value::Number(number) => query.bind(number),
            })
    }
}

/// The text as written in a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text.replace('\0', "\u{fffd}")).to_string();
    let inner = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
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
