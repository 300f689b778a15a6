//! The query parameters of `GET /api/v1/debates`.

use roundtable_engine::event::State as DebateState;
use serde::Deserialize;

use super::problem::Problem;
use crate::clock;
use crate::failure::Fault;
use crate::store::{DebateRow, Filter, ListPosition, MAX_SEARCH_CHARS};

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 500;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    protocol: Option<String>,
    state: Option<String>,
    search: Option<String>,
    since: Option<String>,
    until: Option<String>,
    cursor: Option<String>,
    limit: Option<String>,
}

pub(super) fn cursor_of(row: &DebateRow) -> String {
    format!("{}.{}", row.created_at, row.id)
}

impl ListQuery {
    /// Reports everything that is wrong with the parameters at once.
    pub(super) fn filter(self) -> Result<Filter, Problem> {
        let mut faults = Vec::new();
        let mut wrong = |at: &str, message: String| faults.push(Fault::new(at, message));
        if let Some(message) = self.search.as_deref().and_then(search_fault) {
            wrong("search", message);
        }
        let state = self.state.and_then(|name| {
            let known = DebateState::ALL.into_iter();
            let found = known.clone().find(|state| state.name() == name);
            if found.is_none() {
                let names: Vec<_> = known.map(DebateState::name).collect();
                wrong(
                    "state",
                    format!("unknown state '{name}'; known: {}", names.join(", ")),
                );
            }
            found
        });
        let mut time = |at: &str, text: Option<String>| {
            let text = text?;
            let parsed = clock::time(&text);
            if parsed.is_none() {
                let message =
                    format!("invalid time '{text}': expected 2026-03-01 or 2026-03-01T12:00:00Z");
                wrong(at, message);
            }
            parsed
        };
        let since = time("since", self.since);
        let until = time("until", self.until);
        let limit = self.limit.map_or(Some(DEFAULT_LIMIT), |text| {
            let limit = text.parse().ok();
            limit.filter(|limit| (1..=MAX_LIMIT).contains(limit))
        });
        if limit.is_none() {
            wrong("limit", format!("limit must be from 1 to {MAX_LIMIT}"));
        }
        let after = self.cursor.map(|text| parse_cursor(&text));
        if after == Some(None) {
            wrong(
                "cursor",
                "invalid cursor: use `next` of the previous page".into(),
            );
        }
        if !faults.is_empty() {
            return Err(Problem::invalid(faults));
        }
        Ok(Filter {
            state,
            protocol: self.protocol.filter(|name| !name.is_empty()),
            search: self.search.filter(|text| !text.is_empty()),
            since,
            until,
            after: after.flatten(),
            through: None,
            token: None,
            limit: limit.unwrap_or(DEFAULT_LIMIT),
            offset: 0,
            ..Filter::default()
        })
    }
}

/// The fault of a text to search for.
pub(super) fn search_fault(text: &str) -> Option<String> {
    let is_too_long = text.chars().nth(MAX_SEARCH_CHARS).is_some();
    is_too_long.then(|| format!("search is limited to {MAX_SEARCH_CHARS} characters"))
}

fn parse_cursor(text: &str) -> Option<ListPosition> {
    let (created_at, id) = text.split_once('.')?;
    Some(ListPosition {
        created_at: created_at.parse().ok().filter(|at| *at < 1 << 62)?,
        id: id.parse().ok()?,
    })
}

#[cfg(test)]
#[path = "list_query_tests.rs"]
mod tests;
