//! The result of a debate as a model's answer: content, usage of all calls, and the extension object `roundtable`.

use axum::http::StatusCode;
use roundtable_core::usage::{Money, Usage};
use roundtable_engine::event::{Entry, State};
use roundtable_engine::report::{
    Badge, Dissent, Report, SeatFailure, VerdictChange, VerdictConfidence,
};
use roundtable_engine::table::open_question;
use roundtable_engine::{protocols, tokens};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::super::access::Caller;
use super::super::problem::Problem;
use super::super::{App, off_runtime, rest};
use super::ask::{Ask, Form};
use super::debate::without_answer;
use super::fit;
use crate::clock;
use crate::store::{DebateRow, Totals};

/// An answer in any of the API's forms.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) content: String,
    /// `stop`, or `length` if it was cut.
    pub(super) finish: &'static str,
    pub(super) usage: TokenUsage,
    /// `None` if no debate took place.
    pub(super) roundtable: Option<Extension>,
}

/// Tokens of all calls of the debate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TokenUsage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

/// The result of a debate besides its answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RoundtableExtension")]
pub(in crate::server) struct Extension {
    /// The debate's id, for `/api/v1/debates/{id}`.
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub(super) id: Uuid,
    state: State,
    /// The missing parts, if the debate is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// In US dollars, of all calls; null if a price is unknown.
    cost_usd: Option<Money>,
    calls: u64,
    /// Agreements of the answers. This and the next four: null if the protocol does not report it.
    consensus: Option<Value>,
    contradictions: Option<Value>,
    partial_coverage: Option<Value>,
    unique_insights: Option<Value>,
    blind_spots: Option<Value>,
    /// Seats that still disagree with the answer, and why.
    dissent: Vec<Dissent>,
    /// Whether the answer was challenged.
    badge: Option<Badge>,
    /// The decision in one line, if the protocol has one.
    headline: Option<String>,
    confidence: Option<VerdictConfidence>,
    /// The answer compared with the blind one.
    changed: Option<VerdictChange>,
    caveats: Vec<String>,
    /// Seats that did not answer.
    failures: Vec<SeatFailure>,
    /// Parameters of the request that had no effect on the debate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<&'static str>,
}

impl From<&Totals> for TokenUsage {
    fn from(totals: &Totals) -> Self {
        Self {
            input: totals.input_tokens,
            output: totals.output_tokens,
            cached: totals.cached_tokens,
        }
    }
}

impl Extension {
    /// A call after the debate.
    pub(super) fn add_call(&mut self, cost: Option<Money>) {
        self.calls += 1;
        self.cost_usd = self.cost_usd.zip(cost).map(|(sum, cost)| sum + cost);
    }
}

impl TokenUsage {
    pub(super) fn add(&mut self, used: Usage) {
        self.input += used.input;
        self.output += used.output;
        self.cached += used.cached;
    }
}

/// The answer of a debate that is no longer running, in the form that was asked for.
pub(super) async fn read(
    app: &App,
    caller: &Caller,
    id: Uuid,
    ask: &Ask,
) -> Result<Answer, Problem> {
    let row = rest::find(app, caller, &id.to_string()).await?;
    let entries = app.store.entries(id).await?;
    let (row, entries, found) = off_runtime(move || {
        let found = found(&row, &entries);
        (row, entries, found)
    })
    .await?;
    let (content, mut extension) = found?;
    extension.ignored = ask.ignored();
    let mut answer = Answer {
        content,
        finish: "stop",
        usage: TokenUsage::from(&row.totals),
        roundtable: Some(extension),
    };
    match &ask.form {
        Form::Text => shorten(&mut answer, ask),
        // A part of a JSON document would be of no use.
        form => fit::fit(app, caller, (&row, &entries), form, &mut answer).await?,
    }
    Ok(answer)
}

fn found(row: &DebateRow, entries: &[Entry]) -> Result<(String, Extension), Problem> {
    let stamp = clock::stamp(row.created_at);
    let record = protocols::record(&row.id.to_string(), stamp, entries).unwrap_or_default();
    let mut report = protocols::report(entries);
    let verdict = report.verdict.take();
    let reason = record["reason"].as_str().map(str::to_owned);
    let content = content(row, entries, report, reason.as_deref())?;
    let result = &record["result"];
    let field = |name: &str| result.get(name).filter(|value| !value.is_null()).cloned();
    let extension = Extension {
        id: row.id,
        state: row.state,
        reason,
        cost_usd: row.totals.cost_usd,
        calls: row.totals.calls,
        consensus: field("consensus"),
        contradictions: field("contradictions"),
        partial_coverage: field("partial_coverage"),
        unique_insights: field("unique_insights"),
        blind_spots: field("blind_spots"),
        headline: (verdict.as_ref()).and_then(|verdict| verdict.answer.as_ref()?.headline.clone()),
        badge: verdict.as_ref().map(|verdict| verdict.badge.clone()),
        confidence: verdict
            .as_ref()
            .and_then(|verdict| verdict.confidence.clone()),
        changed: verdict.as_ref().and_then(|verdict| verdict.changed.clone()),
        caveats: verdict
            .as_ref()
            .map_or_else(Vec::new, |verdict| verdict.caveats.clone()),
        failures: verdict
            .as_ref()
            .map_or_else(Vec::new, |verdict| verdict.failures.clone()),
        dissent: verdict.map_or_else(Vec::new, |verdict| verdict.dissent),
        ignored: Vec::new(),
    };
    Ok((content, extension))
}

fn content(
    row: &DebateRow,
    entries: &[Entry],
    report: Report,
    reason: Option<&str>,
) -> Result<String, Problem> {
    let id = row.id;
    let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    match row.state {
        State::Complete | State::Partial if report.answer.is_some() => {
            Ok(report.answer.unwrap_or_default())
        }
        State::Complete | State::Partial | State::Failed => Err(without_answer(
            StatusCode::BAD_GATEWAY,
            "no-answer",
            format!("the debate has no answer{why}"),
            id,
        )),
        State::Cancelled => Err(without_answer(
            StatusCode::CONFLICT,
            "cancelled",
            "the debate was cancelled".to_owned(),
            id,
        )),
        State::Waiting => Ok(waiting(id, entries, report)),
        State::Queued | State::Running | State::Interrupted => Err(without_answer(
            StatusCode::SERVICE_UNAVAILABLE,
            "still-running",
            format!("the server stopped waiting; debate {id} continues: see /api/v1/debates/{id}"),
            id,
        )),
    }
}

/// A person has to decide before there is an answer.
fn waiting(id: Uuid, entries: &[Entry], report: Report) -> String {
    let draft = report
        .answer
        .map_or_else(String::new, |draft| draft + "\n\n");
    let query = open_question(entries).map_or_else(String::new, |query| {
        format!("{} ({}) ", query.question, query.options.join(", "))
    });
    format!(
        "{draft}**The debate waits for your decision.** {query}Decide on the page /debates/{id}, or with \
         POST /api/v1/debates/{id}/decision."
    )
}

/// Applies `stop` and `max_tokens`.
pub(super) fn shorten(answer: &mut Answer, ask: &Ask) {
    let ends = ask
        .stop
        .iter()
        .filter_map(|stop| answer.content.find(stop.as_str()));
    if let Some(end) = ends.min() {
        answer.content.truncate(end);
    }
    if let Some(limit) = ask.max_tokens
        && !tokens::fits(&answer.content, limit)
    {
        answer.content = tokens::shorten(&answer.content, limit);
        answer.finish = "length";
    }
}
