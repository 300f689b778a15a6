//! Queries for debates and their journals (C-14).

use roundtable_engine::event::{Entry, Millis, Setup, State};
use serde::Serialize;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, Row};
use uuid::Uuid;

use super::errors::{Failure, FindError, StoreError};
use super::row::{DebateRow, parse_id, select_debates};
use super::{Store, signed, unsigned};

/// How many matches an ambiguous id lists.
const MAX_CANDIDATES: usize = 5;

/// Which debates to list; by default all, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    pub state: Option<State>,
    pub protocol: Option<String>,
    /// A substring of the question; ASCII case is ignored.
    pub search: Option<String>,
    /// Created at this time or later.
    pub since: Option<Millis>,
    /// Created before this time.
    pub until: Option<Millis>,
    /// Only debates after this position.
    pub after: Option<ListPosition>,
    /// Only debates of this token.
    pub token: Option<Uuid>,
    pub limit: u32,
    pub offset: u64,
}

/// The position of a debate in the listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListPosition {
    pub created_at: Millis,
    pub id: Uuid,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            state: None,
            protocol: None,
            search: None,
            since: None,
            until: None,
            after: None,
            token: None,
            limit: u32::MAX,
            offset: 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Page {
    pub debates: Vec<DebateRow>,
    /// The number of debates on all pages.
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
        let newest = Filter {
            limit: 1,
            ..Filter::default()
        };
        Ok(self.list(&newest).await?.debates.pop())
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
        let dead = self.dead_debates().await?;
        let listed = dead.iter().map(Uuid::to_string);
        let dead_ids = listed.collect::<Vec<_>>().join(" ");
        let state = filter.state.map_or("", State::name);
        let protocol = filter.protocol.as_deref().unwrap_or_default();
        let search = filter
            .search
            .as_deref()
            .map_or_else(|| "%".into(), contains_pattern);
        let since = signed(filter.since.unwrap_or(0));
        let until = filter.until.map_or(i64::MAX, signed);
        let (after, after_id) = filter.after.map_or((i64::MAX, String::new()), |position| {
            (signed(position.created_at), position.id.to_string())
        });
        let token = filter.token.map_or_else(String::new, |id| id.to_string());
        // Running debates that nothing runs any more match the state `interrupted`.
        let query = sqlx::query(select_debates!(
            "WHERE ($1 = '' OR $1 = CASE WHEN state = 'running' AND $10 LIKE '%' || id || '%' THEN 'interrupted' ELSE state END) \
               AND ($2 = '' OR protocol = $2) AND created_at >= $6 AND created_at < $7 \
               AND (created_at < $8 OR (created_at = $8 AND id < $9)) \
               AND ($11 = '' OR token_id = $11) \
               AND lower(question) LIKE lower($3) ESCAPE '!' \
             ORDER BY created_at DESC, id DESC LIMIT $4 OFFSET $5"
        ))
        .bind(state)
        .bind(protocol)
        .bind(search.as_str())
        .bind(i64::from(filter.limit))
        .bind(signed(filter.offset))
        .bind(since)
        .bind(until)
        .bind(after)
        .bind(after_id)
        .bind(dead_ids.as_str())
        .bind(token.as_str());
        let mut debates = self.read_all(query, DebateRow::read).await?;
        for row in &mut debates {
            if row.state == State::Running && dead.contains(&row.id) {
                row.state = State::Interrupted;
            }
        }
        let query = sqlx::query(
            "SELECT COUNT(*) AS total FROM debates \
             WHERE ($1 = '' OR $1 = CASE WHEN state = 'running' AND $6 LIKE '%' || id || '%' THEN 'interrupted' ELSE state END) \
               AND ($2 = '' OR protocol = $2) AND created_at >= $4 AND created_at < $5 \
               AND ($7 = '' OR token_id = $7) \
               AND lower(question) LIKE lower($3) ESCAPE '!'",
        )
        .bind(state)
        .bind(protocol)
        .bind(search.as_str())
        .bind(since)
        .bind(until)
        .bind(dead_ids.as_str())
        .bind(token.as_str());
        let total = self.read_number(query).await?;
        Ok(Page { debates, total })
    }

    /// The journal of a debate after the entry `seq`.
    pub(crate) async fn entries_after(&self, id: Uuid, seq: u64) -> Result<Vec<Entry>, StoreError> {
        let query = sqlx::query(
            "SELECT seq, at, body FROM journal WHERE debate_id = $1 AND seq > $2 ORDER BY seq",
        )
        .bind(id.to_string())
        .bind(signed(seq));
        let read = |row: &AnyRow| {
            let seq = unsigned(row.try_get("seq")?);
            let event = serde_json::from_str(row.try_get("body")?).map_err(|error| {
                Failure::unreadable(format!("entry {seq} of debate {id}: {error}"))
            })?;
            let at = unsigned(row.try_get("at")?);
            Ok(Entry { seq, at, event })
        };
        self.read_all(query, read).await
    }

    /// The rows of a query.
    pub(super) async fn read_all<T>(
        &self,
        query: Query<'_, Any, AnyArguments>,
        read: impl FnMut(&AnyRow) -> Result<T, Failure>,
    ) -> Result<Vec<T>, StoreError> {
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
        let row = query.fetch_one(&self.reader).await;
        row.and_then(|row| row.try_get::<i64, _>(0))
            .map(unsigned)
            .map_err(|error| self.failed(error))
    }
}

/// The column `setup` of a debate's row.
pub(super) fn read_setup(id: Uuid, row: &AnyRow) -> Result<Setup, Failure> {
    serde_json::from_str(row.try_get("setup")?)
        .map_err(|error| Failure::unreadable(format!("the setup of debate {id}: {error}")))
}

/// The LIKE pattern that finds `text` literally.
fn contains_pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
