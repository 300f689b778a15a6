//! The list of debates, with search, filters and pagination.

use askama::Template;
use roundtable_engine::event::State;
use roundtable_engine::protocols;
use roundtable_engine::transcript::capital;

use super::{Choice, Frame, percent};
use crate::clock;
use crate::format::{cost, grouped, short};
use crate::render::{state_tone, state_word};
use crate::store::{DebateRow, Filing, MAX_COUNTED, PeriodUsage};

pub(crate) const PER_PAGE: u64 = 25;
/// Far more than there are debates, and small enough to calculate with.
const MAX_PAGE: u64 = 1_000_000_000;

/// A debate as a row of a list.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub id: String,
    pub question: String,
    pub protocol: String,
    pub state: &'static str,
    pub tone: &'static str,
    pub stamp: String,
    pub when: String,
    pub tokens: String,
    pub cost: String,
    pub rating: Option<u8>,
    /// In one line.
    pub result: Option<String>,
    pub can_delete: bool,
    pub is_pinned: bool,
    pub tags: Vec<String>,
    /// Whether it can be marked, to be exported or deleted with others.
    pub can_choose: bool,
}

impl Row {
    pub(crate) fn new(row: &DebateRow, can_delete: bool) -> Self {
        let tokens = row
            .totals
            .input_tokens
            .saturating_add(row.totals.output_tokens);
        Self {
            id: row.id.to_string(),
            question: short(&row.question, 160),
            protocol: protocols::title(&row.protocol),
            state: state_word(row.state),
            tone: state_tone(row.state),
            stamp: clock::stamp(row.created_at),
            when: clock::day_and_time(row.created_at),
            tokens: grouped(tokens),
            cost: cost(row.totals.cost_usd, tokens).unwrap_or_default(),
            rating: row.rating,
            result: row.result.clone(),
            can_delete,
            is_pinned: false,
            tags: Vec::new(),
            can_choose: false,
        }
    }

    pub(crate) fn choosable(self) -> Self {
        Self {
            can_choose: true,
            ..self
        }
    }

    pub(crate) fn filed(mut self, filing: Option<&Filing>) -> Self {
        if let Some(filing) = filing {
            self.is_pinned = filing.is_pinned;
            self.tags = filing.tags.iter().cloned().collect();
        }
        self
    }
}

/// The cost of the debates of a month.
pub(crate) struct Month {
    pub name: String,
    pub debates: String,
    pub tokens: String,
    pub cost: String,
}

impl Month {
    pub(crate) fn new(usage: &PeriodUsage) -> Self {
        let stamp = clock::stamp(usage.since);
        Self {
            name: stamp.get(..7).unwrap_or_default().to_owned(),
            debates: grouped(usage.debates),
            tokens: grouped(usage.tokens),
            cost: format!("${:.2}", usage.cost.dollars()),
        }
    }
}

/// Parameters of the query string.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Query {
    pub q: String,
    pub protocol: String,
    pub state: String,
    pub from: String,
    pub until: String,
    pub tag: String,
    /// Not empty for pinned debates only.
    pub pinned: String,
    pub page: String,
}

impl Query {
    /// Page number, starting at 1.
    pub(crate) fn page(&self) -> u64 {
        self.page.parse().unwrap_or(1).clamp(1, MAX_PAGE)
    }

    fn is_filtered(&self) -> bool {
        [
            &self.q,
            &self.protocol,
            &self.state,
            &self.from,
            &self.until,
            &self.tag,
            &self.pinned,
        ]
        .iter()
        .any(|part| !part.is_empty())
    }

    fn url(&self, page: u64) -> String {
        let page = page.to_string();
        let parts = [
            ("q", &self.q),
            ("protocol", &self.protocol),
            ("state", &self.state),
            ("from", &self.from),
            ("until", &self.until),
            ("tag", &self.tag),
            ("pinned", &self.pinned),
            ("page", &page),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", percent(value)))
            .collect();
        format!("/debates?{}", parts.join("&"))
    }
}

pub(crate) struct DebatesView {
    pub problems: Vec<String>,
    search: String,
    protocols: Vec<Choice>,
    states: Vec<Choice>,
    from: String,
    until: String,
    pub tags: Vec<Choice>,
    is_pinned: bool,
    pub months: Vec<Month>,
    /// Whether the visitor may delete debates.
    pub can_delete: bool,
    is_filtered: bool,
    rows: Vec<Row>,
    newer: Option<String>,
    older: Option<String>,
    range: String,
}

#[derive(Template)]
#[template(path = "debates.html")]
struct Page {
    frame: Frame,
    view: DebatesView,
}

impl DebatesView {
    pub(crate) fn new(query: &Query, rows: Vec<Row>, total: u64) -> Self {
        let page = query.page();
        let first = (page - 1).saturating_mul(PER_PAGE).saturating_add(1);
        let last = (first - 1).saturating_add(rows.len() as u64);
        let is_counted = total < MAX_COUNTED;
        let is_full = rows.len() as u64 == PER_PAGE;
        let has_more = last < total || (!is_counted && is_full);
        let choice = |value: &str, label: String, chosen: &str| Choice {
            value: value.to_owned(),
            label,
            is_chosen: value == chosen,
        };
        Self {
            problems: Vec::new(),
            search: query.q.clone(),
            protocols: protocols::ALL
                .iter()
                .map(|protocol| {
                    choice(
                        protocol.name(),
                        protocol.title().to_owned(),
                        &query.protocol,
                    )
                })
                .collect(),
            states: State::ALL
                .iter()
                .map(|state| choice(state.name(), capital(state.name()), &query.state))
                .collect(),
            from: query.from.clone(),
            until: query.until.clone(),
            tags: Vec::new(),
            is_pinned: !query.pinned.is_empty(),
            months: Vec::new(),
            can_delete: false,
            is_filtered: query.is_filtered(),
            newer: (page > 1).then(|| query.url(page - 1)),
            older: has_more.then(|| query.url(page.saturating_add(1))),
            range: format!(
                "{}–{} of {}{}",
                grouped(first),
                grouped(last),
                grouped(total),
                if is_counted { "" } else { " or more" }
            ),
            rows,
        }
    }

    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}
