//! The SQL of a listing's filter.

use std::collections::HashSet;
use std::fmt::Write;

use roundtable_engine::event::State;
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe};
use uuid::Uuid;

use super::dialect::Dialect;
use super::query::{Filter, MAX_LISTED_QUESTION, MAX_SEARCHED_CHARS};
use super::signed;

/// The conditions of a listing: only those that it has, so that the database can use an index.
#[derive(Default)]
pub(super) struct Conditions {
    /// Empty, or `WHERE …`.
    pub(super) clause: String,
    values: Vec<Value>,
}

enum Value {
    Text(String),
    Number(i64),
}

impl Conditions {
    pub(super) fn of(filter: &Filter, dead: &HashSet<Uuid>, dialect: Dialect) -> Self {
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
    pub(super) fn rows(mut self, filter: &Filter) -> (String, Self) {
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
    pub(super) fn bind(self, sql: &str) -> Query<'static, Any, AnyArguments> {
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
