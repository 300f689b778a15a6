//! Handlers of `/api/v1/debates`.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use roundtable_core::hex;
use roundtable_engine::budget::Budget;
use roundtable_engine::event::{Query as OpenQuestion, State as DebateState};
use roundtable_engine::follow_up;
use roundtable_engine::parent::Parent;
use roundtable_engine::protocols;
use roundtable_engine::report::Report;
use roundtable_engine::table::open_question;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::access::Caller;
use super::audit::{AuditNote, Received};
use super::list_query::{ListQuery, cursor_of};
use super::ownership::missing;
use super::problem::Problem;
use super::quota::admit_continuation;
use super::requests::{
    DecisionRequest, InputRequest, NewDebate, RatingRequest, ResumeRequest, Sent,
};
use super::scheduler::{Continuation, progress_sink};
use super::{App, off_runtime};
use crate::clock;
use crate::export::{self, ExportError, Format};
use crate::setup::estimate::DebateEstimate;
use crate::setup::{self, DebateSpec, PreparedDebate};
use crate::store::{self, AuditOutcome, Created, DebateRow, Filter, Page, Rating};

/// Limit on the wait of a request with `Prefer: wait`.
const MAX_WAIT: Duration = Duration::from_mins(10);
/// In the audit log.
const BUDGET_RAISED: &str = "budget-raised";
/// Limit on an `Idempotency-Key`.
pub(super) const MAX_KEY_BYTES: usize = 255;

/// The current state of a debate.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DebateStatus {
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    state: DebateState,
    /// The path of the debate.
    location: String,
}

/// A debate with its report.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DebateDetail {
    #[serde(flatten)]
    row: DebateRow,
    /// The number of debates before it in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_position: Option<u64>,
    /// Whether the debate pauses before its next round.
    pausing: bool,
    /// The decision that the debate waits for.
    waiting_for: Option<OpenQuestion>,
    /// The number of the last journal entry in this response; `…/events?after=` continues after it.
    seq: u64,
    /// The record of the protocol, with fields of its own.
    #[schemars(with = "Option<Map<String, Value>>")]
    record: Option<Value>,
    /// Answer, facts and sections, with the same fields for every protocol.
    report: Report,
    /// The debates that follow up on it, oldest first, at most 100.
    follow_ups: Vec<FollowUp>,
}

/// A debate that follows up on another one.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DebateFollowUp")]
struct FollowUp {
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// Its first 500 characters.
    question: String,
    state: DebateState,
}

/// A page of a listing.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DebateList {
    /// The debates, with the first 500 characters of each question.
    debates: Vec<DebateRow>,
    /// The number of debates on all pages. Counting stops at 10,000.
    total: u64,
    /// The `cursor` of the next page; null on the last page.
    next: Option<String>,
}

/// A message that was added to the journal.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InputReceipt {
    /// The number of the message in this debate, from 1.
    number: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExportQuery {
    format: Option<String>,
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    sent: Sent<NewDebate>,
) -> Result<Response, Problem> {
    let bytes = sent.bytes.clone();
    let request = store::CreateRequest {
        key: idempotency_key(&headers, &caller)?,
        fingerprint: off_runtime(move || fingerprint(&bytes)).await?,
        token: caller.token,
        is_attended: false,
    };
    let wait = preferred_wait(&headers);
    let created = if let Some(created) = app.store.find_created(&request).await? {
        created
    } else {
        let spec = spec_of(&app, &caller, sent.content).await?;
        start(&app, &caller, spec, &request).await?
    };
    let id = id_of(&created)?;
    let mut applied = None;
    if let Some(wait) = wait {
        app.scheduler.wait_for(id, wait).await;
        applied = HeaderValue::from_str(&format!("wait={}", wait.as_secs())).ok();
    }
    let row = find(&app, &caller, &id.to_string()).await?;
    let is_over = row.ended_at.is_some();
    let mut response = if applied.is_some() && is_over {
        Json(detail(&app, &caller, row).await?).into_response()
    } else {
        accepted(row.id, row.state)
    };
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::from_str(&location(id)) {
        headers.insert(header::LOCATION, location);
    }
    if let Some(applied) = applied {
        headers.insert(HeaderName::from_static("preference-applied"), applied);
    }
    Ok(response)
}

/// The expected usage of a request. Nothing is started.
pub(super) async fn estimate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    sent: Sent<NewDebate>,
) -> Result<Json<DebateEstimate>, Problem> {
    Ok(Json(estimate_of(&app, &caller, sent.content).await?))
}

pub(super) async fn estimate_of(
    app: &Arc<App>,
    caller: &Caller,
    request: NewDebate,
) -> Result<DebateEstimate, Problem> {
    let mut spec = spec_of(app, caller, request).await?;
    spec.policy = caller.policy();
    spec.is_estimate = true;
    let prepared = setup::prepare(&app.context, &app.store, spec, &progress_sink()).await?;
    DebateEstimate::of(&prepared).ok_or_else(|| Problem::internal("the debate has no estimate"))
}

/// The debate that a request created, now or earlier with the same key.
pub(super) fn id_of(created: &Created) -> Result<Uuid, Problem> {
    match created {
        Created::New(id) | Created::Existing(id) => Ok(*id),
        Created::KeyConflict => Err(Problem::invalid_at(
            "Idempotency-Key",
            "this key was used for a different request: use a new one",
        )),
    }
}

/// The specification of a requested debate. Its sources may take a while to read.
pub(super) async fn spec_of(
    app: &Arc<App>,
    caller: &Caller,
    mut request: NewDebate,
) -> Result<DebateSpec, Problem> {
    let parent = match request.parent.take() {
        Some(id) => Some(parent_of_follow_up(app, caller, &id).await?),
        None => None,
    };
    let app = Arc::clone(app);
    let spec = off_runtime(move || request.spec(&app.context.config.limits)).await??;
    Ok(DebateSpec { parent, ..spec })
}

/// The debate that a new one follows up on. One that the caller does not see is not found.
async fn parent_of_follow_up(app: &App, caller: &Caller, id: &str) -> Result<Parent, Problem> {
    let row = find(app, caller, id).await?;
    let entries = app.store.entries(row.id).await?;
    let id = row.id;
    let parent = move || follow_up::parent(&id.to_string(), row.state, &entries);
    off_runtime(parent).await?.map_err(|why| {
        let detail = format!("debate {id} has no result to follow up on: {why}");
        Problem::new(StatusCode::CONFLICT, "no-result", detail).about(id)
    })
}

/// Reserves the slot first, so that a full server rejects the request before doing any work. The token's limits are checked
/// before that work, and again when the debate is created.
pub(super) async fn start(
    app: &Arc<App>,
    caller: &Caller,
    mut spec: DebateSpec,
    request: &store::CreateRequest,
) -> Result<Created, Problem> {
    let slot = app.scheduler.reserve()?;
    app.quotas.check(&app.store, caller).await?;
    spec.policy = caller.policy();
    let mut prepared = setup::prepare(&app.context, &app.store, spec, &progress_sink()).await?;
    check_recursion(app, &prepared)?;
    let allowance = app.quotas.admit(&app.store, caller).await?;
    allowance.apply(&mut prepared);
    Ok(app.scheduler.create(slot, prepared, request).await?)
}

/// A seat must not be a debate of this server: it would debate without end.
pub(super) fn check_recursion(app: &App, prepared: &PreparedDebate) -> Result<(), Problem> {
    let providers = &app.context.config.providers;
    for seated in &prepared.setup.seats {
        let provider = seated.model.split(':').next();
        let provider = provider.and_then(|name| providers.get(name));
        if provider.is_some_and(|provider| app.access.is_own_url(&provider.base_url)) {
            let (seat, model) = (&seated.seat.name, &seated.model);
            let message = format!(
                "the model {model} of seat '{seat}' is this server itself, so the debate would never end: choose another model"
            );
            return Err(Problem::invalid_at("/model", message)
                .renamed(StatusCode::BAD_REQUEST, "recursion"));
        }
    }
    Ok(())
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    query: Result<Query<ListQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<DebateList>, Problem> {
    let Query(query) = query.map_err(|error| Problem::invalid_at("query", error.body_text()))?;
    let filter = Filter {
        token: caller.only(),
        ..query.filter()?
    };
    let Page { mut debates, total } = app.store.list(&filter).await?;
    let is_full = debates.len() as u64 == u64::from(filter.limit);
    let next = debates.last().filter(|_| is_full).map(cursor_of);
    for row in &mut debates {
        overlay_queue_state(&app, row);
    }
    Ok(Json(DebateList {
        debates,
        total,
        next,
    }))
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<DebateDetail>, Problem> {
    let row = find(&app, &caller, &id).await?;
    Ok(Json(detail(&app, &caller, row).await?))
}

pub(super) async fn input(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    sent: Sent<InputRequest>,
) -> Result<(StatusCode, Json<InputReceipt>), Problem> {
    let row = find(&app, &caller, &id).await?;
    let InputRequest { text, by } = sent.content;
    if text.trim().is_empty() {
        return Err(Problem::invalid_at("/text", "text must not be empty"));
    }
    let by = caller.author(by);
    let number = app.scheduler.say(row.id, text, by).await?;
    Ok((StatusCode::ACCEPTED, Json(InputReceipt { number })))
}

pub(super) async fn decision(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    sent: Sent<DecisionRequest>,
) -> Result<Response, Problem> {
    let row = find(&app, &caller, &id).await?;
    let DecisionRequest { choice, by, note } = sent.content;
    let _allowance = admit_continuation(&app, &caller, &row).await?;
    let recorded = AuditNote::detail(format!("choice '{choice}'"));
    let by = caller.author(by);
    let state = app.scheduler.decide(row.id, choice, by, note).await?;
    Ok((Extension(recorded), accepted(row.id, state)).into_response())
}

pub(super) async fn pause(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let row = find(&app, &caller, &id).await?;
    let state = app.scheduler.pause(row.id).await?;
    Ok(accepted(row.id, state))
}

pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let row = find(&app, &caller, &id).await?;
    let state = app.scheduler.cancel(row.id).await?;
    Ok(accepted(row.id, state))
}

pub(super) async fn resume(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    Extension(received): Extension<Received>,
    sent: Sent<ResumeRequest>,
) -> Result<Response, Problem> {
    let row = find(&app, &caller, &id).await?;
    let mut faults = Vec::new();
    let budget = sent.content.budget.unwrap_or_default();
    let budget = budget.budget(&mut faults);
    if !faults.is_empty() {
        return Err(Problem::invalid(faults));
    }
    resume_within(&app, &caller, &row, budget, received).await
}

/// Resumes a debate within the limits of the token. New limits of the debate are recorded.
pub(super) async fn resume_within(
    app: &Arc<App>,
    caller: &Caller,
    row: &DebateRow,
    requested: Budget,
    received: Received,
) -> Result<Response, Problem> {
    let allowance = admit_continuation(app, caller, row).await?;
    let spent = row.totals.cost_usd.unwrap_or_default();
    let continuation = Continuation {
        requested,
        ceiling: allowance.ceiling(spent),
        by: caller.author(None),
    };
    if requested == Budget::default() {
        let state = app.scheduler.resume(row.id, continuation).await?;
        return Ok(accepted(row.id, state));
    }
    let (auditor, who) = (&app.auditor, caller.name.clone());
    let begun = auditor.begin_as(BUDGET_RAISED, &received, who, caller.via());
    let mut record = begun.await?;
    let resumed = app.scheduler.resume(row.id, continuation).await;
    if resumed.is_err() {
        record.outcome = AuditOutcome::Refused;
        auditor.record(record).await;
    }
    let recorded = AuditNote {
        action: Some(BUDGET_RAISED),
        ..AuditNote::detail(json!(requested).to_string())
    };
    Ok((Extension(recorded), accepted(row.id, resumed?)).into_response())
}

pub(super) async fn rating(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    sent: Sent<RatingRequest>,
) -> Result<StatusCode, Problem> {
    let row = find(&app, &caller, &id).await?;
    let RatingRequest { rating, comment } = sent.content;
    let rating = valid_rating(Some(rating))?;
    app.scheduler.rate(row.id, rating, comment).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) fn valid_rating(rating: Option<u8>) -> Result<Rating, Problem> {
    rating.and_then(Rating::new).ok_or_else(|| {
        let range = Rating::RANGE;
        let message = format!("rating must be from {} to {}", range.start(), range.end());
        Problem::invalid_at("/rating", message)
    })
}

pub(super) async fn export(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let row = find(&app, &caller, &id).await?;
    let name = query.format.as_deref().unwrap_or(Format::Json.name());
    let format = Format::named(name).ok_or_else(|| {
        let known = Format::names().join(", ");
        let message = format!("unknown format '{name}'; known: {known}");
        Problem::invalid_at("format", message)
    })?;
    let entries = app.store.entries(row.id).await?;
    let id = row.id;
    let text = off_runtime(move || export::render(format, &row, &entries)).await?;
    let text = text.map_err(|error| match error {
        ExportError::Serialize(_) => Problem::internal(&error.to_string()),
        ExportError::NotStarted | ExportError::UnknownProtocol(_) | ExportError::NoTrainingData => {
            Problem::new(StatusCode::CONFLICT, "nothing-to-export", error.to_string())
        }
    })?;
    let file = format!("attachment; filename=\"debate-{id}.{}\"", format.name());
    Ok((
        [
            (header::CONTENT_TYPE, format.content_type()),
            (header::CONTENT_DISPOSITION, file.as_str()),
        ],
        text,
    )
        .into_response())
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<StatusCode, Problem> {
    let row = find(&app, &caller, &id).await?;
    app.scheduler.delete(row.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The debate with exactly this id, if the caller sees it.
pub(super) async fn find(app: &App, caller: &Caller, id: &str) -> Result<DebateRow, Problem> {
    let missing = || missing(id);
    let id: Uuid = id.parse().map_err(|_| missing())?;
    let row = app.store.get(id).await?;
    let row = row.filter(|row| caller.sees(row)).ok_or_else(missing)?;
    shown(app, row).await
}

/// The debate with the state that clients see.
pub(super) async fn shown(app: &App, row: DebateRow) -> Result<DebateRow, Problem> {
    let mut row = app.store.shown(row).await?;
    overlay_queue_state(app, &mut row);
    Ok(row)
}

/// A debate that waits to be resumed is queued, whatever state its journal ended with. One that this server starts, or resumes
/// once the store answers again, is running.
pub(super) fn overlay_queue_state(app: &App, row: &mut DebateRow) {
    let is_unended = row.ended_at.is_none();
    if app.scheduler.queue_position(row.id).is_some() {
        row.state = DebateState::Queued;
    } else if row.state == DebateState::Interrupted
        && is_unended
        && (row.is_served || app.scheduler.has(row.id))
    {
        row.state = DebateState::Running;
    }
}

async fn detail(app: &App, caller: &Caller, row: DebateRow) -> Result<DebateDetail, Problem> {
    let entries = app.store.entries(row.id).await?;
    let thread = app.store.thread(&row, caller.only()).await?;
    let queue_position = app.scheduler.place_in_queue(&row).await?;
    let pausing = app.scheduler.is_pause_requested(row.id);
    let detail = move || {
        let stamp = clock::stamp(row.created_at);
        DebateDetail {
            queue_position,
            pausing,
            waiting_for: open_question(&entries).cloned(),
            seq: entries.last().map_or(0, |last| last.seq),
            record: protocols::record(&row.id.to_string(), stamp, &entries)
                .map(|record| export::shown_record(record, row.state, &entries)),
            report: protocols::report(&entries).shown_as(row.state),
            follow_ups: thread.follow_ups.into_iter().map(FollowUp::from).collect(),
            row,
        }
    };
    off_runtime(detail).await
}

impl From<DebateRow> for FollowUp {
    fn from(row: DebateRow) -> Self {
        Self {
            id: row.id,
            question: row.question,
            state: row.state,
        }
    }
}

fn accepted(id: Uuid, state: DebateState) -> Response {
    let status = DebateStatus {
        id,
        state,
        location: location(id),
    };
    (StatusCode::ACCEPTED, Json(status)).into_response()
}

fn location(id: Uuid) -> String {
    format!("/api/v1/debates/{id}")
}

/// Keys are scoped to the token of the request.
pub(super) fn idempotency_key(
    headers: &HeaderMap,
    caller: &Caller,
) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(value) = given.next() else {
        return Ok(None);
    };
    let is_graphic = |key: &&str| key.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value.to_str().ok().filter(|_| given.next().is_none());
    let key = key.filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len()));
    let key = key.filter(is_graphic).ok_or_else(|| {
        let message = format!(
            "send one key of 1 to {MAX_KEY_BYTES} printable ASCII characters without spaces"
        );
        Problem::invalid_at("Idempotency-Key", message)
    })?;
    Ok(Some(key_of(caller, key)))
}

/// A key as the store keeps it.
pub(super) fn key_of(caller: &Caller, key: &str) -> String {
    let owner = caller
        .token
        .map_or_else(|| "-".to_owned(), |token| token.to_string());
    format!("{owner}/{key}")
}

/// A hash of the content that does not depend on whitespace or the order of keys.
pub(super) fn fingerprint(bytes: &[u8]) -> String {
    let plain = serde_json::from_slice(bytes).map(|mut value: Value| {
        value.sort_all_objects();
        value.to_string()
    });
    hex::encode(Sha256::digest(plain.unwrap_or_default().as_bytes()))
}

/// `Prefer: wait=30` (RFC 7240).
fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all("prefer").iter();
    let mut preferences = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split([',', ';']));
    let seconds = preferences.find_map(|preference| {
        let (name, value) = preference.trim().split_once('=')?;
        let is_wait = name.trim().eq_ignore_ascii_case("wait");
        is_wait.then(|| value.trim().trim_matches('"').parse::<u32>().ok())?
    })?;
    Some(Duration::from_secs(u64::from(seconds)).min(MAX_WAIT))
}

#[cfg(test)]
#[path = "rest_tests.rs"]
mod tests;
