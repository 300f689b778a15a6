//! The API's requests about debates, one function each.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use roundtable_engine::event::{Entry, State as DebateState};
use roundtable_engine::protocols;
use roundtable_engine::table::open_question;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::App;
use super::access::Caller;
use super::documents::{Format, document};
use super::problem::Problem;
use super::requests::{DecisionRequest, Input, NewDebate, RatingRequest, ResumeRequest, Sent};
use super::scheduler::progress_sink;
use crate::clock;
use crate::failure::Fault;
use crate::setup::{self, DebateSpec};
use crate::store::{self, Created, DebateRow, Filter, ListPosition, Rating};

/// The longest that a request with `Prefer: wait` waits.
const MAX_WAIT: Duration = Duration::from_mins(10);
const PAGE: u32 = 50;
const MAX_PAGE: u32 = 500;
const MAX_KEY_CHARS: usize = 200;

/// A debate that was started, or is asked to do something.
#[derive(Debug, Serialize)]
pub(super) struct Standing {
    id: Uuid,
    /// queued, running, waiting, complete, partial, failed or cancelled.
    state: String,
    /// Where the debate is.
    location: String,
}

/// A debate with all that it has to show.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    row: DebateRow,
    /// How many debates are before it, where it waits for a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_position: Option<u64>,
    /// Whether it is to stop before its next round.
    pausing: bool,
    /// What a person is to decide before it goes on.
    waiting_for: Option<Value>,
    /// The last entry of its journal that is shown here; events after it are at `…/events?after=`.
    seq: u64,
    /// The protocol's own record, with the fields of its design.
    record: Option<Value>,
    /// What every protocol has to show: answer, facts, sections.
    report: Value,
}

#[derive(Debug, Serialize)]
pub(super) struct Listed {
    debates: Vec<DebateRow>,
    /// How many there are on all pages.
    total: u64,
    /// Give it as `cursor` to get the next page; there is none where it is null.
    next: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Heard {
    /// Counts what people have said in this debate.
    number: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    protocol: Option<String>,
    state: Option<String>,
    search: Option<String>,
    since: Option<String>,
    until: Option<String>,
    cursor: Option<String>,
    limit: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExportQuery {
    format: Option<String>,
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    caller: Option<Extension<Caller>>,
    headers: HeaderMap,
    sent: Sent<NewDebate>,
) -> Result<Response, Problem> {
    let request = store::CreateRequest {
        key: idempotency_key(&headers, caller.as_deref())?,
        fingerprint: fingerprint(&sent.bytes),
    };
    let wait = preferred_wait(&headers);
    let known = app.store.find_created(&request).await?;
    let created = match known {
        Some(created) => created,
        None => {
            let spec = sent.content.spec(&app.context.config.limits)?;
            start(&app, spec, &request).await?
        }
    };
    let id = id_of(&created)?;
    let mut applied = None;
    if let Some(wait) = wait {
        app.scheduler.wait_for(id, wait).await;
        applied = HeaderValue::from_str(&format!("wait={}", wait.as_secs())).ok();
    }
    let row = find(&app, &id.to_string()).await?;
    let is_over = row.ended_at.is_some();
    let mut response = if applied.is_some() && is_over {
        Json(shown(&app, row).await?).into_response()
    } else {
        standing(row.id, row.state)
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

/// The debate that a request made, now or before.
pub(super) fn id_of(created: &Created) -> Result<Uuid, Problem> {
    match created {
        Created::New(id) | Created::Existing(id) => Ok(*id),
        Created::KeyConflict => Err(Problem::invalid(vec![Fault::new(
            "Idempotency-Key",
            "this key was used for a different request: use a new one",
        )])),
    }
}

/// Reserves the slot first, so that a full server answers before anything is looked up or written.
pub(super) async fn start(
    app: &Arc<App>,
    spec: DebateSpec,
    request: &store::CreateRequest,
) -> Result<Created, Problem> {
    let slot = app.scheduler.reserve()?;
    let prepared = setup::prepare(&app.context, &app.store, spec, &progress_sink()).await?;
    Ok(app.scheduler.create(slot, prepared, request).await?)
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Listing>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Listed>, Problem> {
    let Query(listing) =
        query.map_err(|error| Problem::invalid(vec![Fault::new("query", error.body_text())]))?;
    let filter = listing.filter()?;
    let page = app.store.list(&filter).await?;
    let is_full = page.debates.len() as u64 == u64::from(filter.limit);
    let next = page.debates.last().filter(|_| is_full).map(cursor_of);
    let mut debates = page.debates;
    for row in &mut debates {
        overlay_queue_state(&app, row);
    }
    Ok(Json(Listed {
        debates,
        total: page.total,
        next,
    }))
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Shown>, Problem> {
    let row = find(&app, &id).await?;
    Ok(Json(shown(&app, row).await?))
}

pub(super) async fn input(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    caller: Option<Extension<Caller>>,
    sent: Sent<Input>,
) -> Result<(StatusCode, Json<Heard>), Problem> {
    let row = find(&app, &id).await?;
    let Input { text, by } = sent.content;
    if text.trim().is_empty() {
        return Err(Problem::invalid(vec![Fault::new(
            "/text",
            "text must not be empty",
        )]));
    }
    let by = by.or_else(|| caller.and_then(|caller| caller.name.clone()));
    let number = app.scheduler.say(row.id, text, by).await?;
    Ok((StatusCode::ACCEPTED, Json(Heard { number })))
}

pub(super) async fn decision(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    caller: Option<Extension<Caller>>,
    sent: Sent<DecisionRequest>,
) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    let DecisionRequest { choice, by, note } = sent.content;
    let by = by.or_else(|| caller.and_then(|caller| caller.name.clone()));
    let state = app.scheduler.decide(row.id, choice, by, note).await?;
    Ok(standing(row.id, state))
}

pub(super) async fn pause(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    let state = app.scheduler.pause(row.id).await?;
    Ok(standing(row.id, state))
}

pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    let state = app.scheduler.cancel(row.id).await?;
    Ok(standing(row.id, state))
}

pub(super) async fn resume(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    sent: Sent<ResumeRequest>,
) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    let mut faults = Vec::new();
    let budget = sent.content.budget.map(|spec| spec.budget(&mut faults));
    if !faults.is_empty() {
        return Err(Problem::invalid(faults));
    }
    let state = app.scheduler.resume(row.id, budget).await?;
    Ok(standing(row.id, state))
}

pub(super) async fn rating(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    sent: Sent<RatingRequest>,
) -> Result<StatusCode, Problem> {
    let row = find(&app, &id).await?;
    let RatingRequest { rating, comment } = sent.content;
    let rating = valid_rating(Some(rating))?;
    app.store
        .rate(row.id, rating, comment, clock::now())
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) fn valid_rating(rating: Option<u8>) -> Result<Rating, Problem> {
    rating.and_then(Rating::new).ok_or_else(|| {
        let range = Rating::RANGE;
        let message = format!("rating must be from {} to {}", range.start(), range.end());
        Problem::invalid(vec![Fault::new("/rating", message)])
    })
}

pub(super) async fn export(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    let name = query.format.as_deref().unwrap_or("json");
    let format = Format::named(name).ok_or_else(|| {
        let known = Format::NAMES.join(", ");
        let message = format!("'{name}' is no format; there are: {known}");
        Problem::invalid(vec![Fault::new("format", message)])
    })?;
    let entries = app.store.entries(row.id).await?;
    let text = document(&row, &entries, format).ok_or_else(|| {
        Problem::new(
            StatusCode::CONFLICT,
            "nothing-to-export",
            "there is nothing of this debate to write in that format yet",
        )
    })?;
    let name = format!(
        "attachment; filename=\"debate-{}.{}\"",
        row.id,
        format.extension()
    );
    Ok((
        [
            (header::CONTENT_TYPE, format.content_type()),
            (header::CONTENT_DISPOSITION, name.as_str()),
        ],
        text,
    )
        .into_response())
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let row = find(&app, &id).await?;
    if app.scheduler.has(row.id) {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "wrong-state",
            "the debate is running; cancel it first",
        ));
    }
    app.store.delete(row.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The debate with exactly this id.
pub(super) async fn find(app: &App, id: &str) -> Result<DebateRow, Problem> {
    let missing = || {
        let short: String = id.chars().take(80).collect();
        Problem::not_found(&format!("there is no debate '{short}'"))
    };
    let id: Uuid = id.parse().map_err(|_| missing())?;
    let mut row = app.store.get(id).await?.ok_or_else(missing)?;
    overlay_queue_state(app, &mut row);
    Ok(row)
}

/// A debate that waits for its turn to go on is queued, whatever its journal ended with.
pub(super) fn overlay_queue_state(app: &App, row: &mut DebateRow) {
    if app.scheduler.queue_position(row.id).is_some() {
        row.state = DebateState::Queued;
    }
}

async fn shown(app: &App, row: DebateRow) -> Result<Shown, Problem> {
    let entries: Vec<Entry> = app.store.entries(row.id).await?;
    let report = serde_json::to_value(protocols::report(&entries))
        .map_err(|error| Problem::internal(&error.to_string()))?;
    let stamp = clock::stamp(row.created_at);
    Ok(Shown {
        queue_position: app.scheduler.place_in_queue(&row).await?,
        pausing: app.scheduler.is_to_pause(row.id),
        waiting_for: open_question(&entries).map(|query| json!(query)),
        seq: entries.last().map_or(0, |last| last.seq),
        record: protocols::record(&row.id.to_string(), stamp, &entries),
        report,
        row,
    })
}

fn standing(id: Uuid, state: DebateState) -> Response {
    let standing = Standing {
        id,
        state: state.name().to_owned(),
        location: location(id),
    };
    (StatusCode::ACCEPTED, Json(standing)).into_response()
}

fn location(id: Uuid) -> String {
    format!("/api/v1/debates/{id}")
}

/// A key counts for the token it comes with.
pub(super) fn idempotency_key(
    headers: &HeaderMap,
    caller: Option<&Caller>,
) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = value.to_str().ok().map(str::trim);
    let key = key.filter(|key| !key.is_empty() && key.len() <= MAX_KEY_CHARS);
    let key = key.ok_or_else(|| {
        Problem::invalid(vec![Fault::new(
            "Idempotency-Key",
            format!("a key has 1 to {MAX_KEY_CHARS} plain characters"),
        )])
    })?;
    let owner = caller.and_then(|caller| caller.token);
    Ok(Some(match owner {
        Some(token) => format!("{token}/{key}"),
        None => format!("-/{key}"),
    }))
}

/// The same content in another layout is the same request.
pub(super) fn fingerprint(bytes: &[u8]) -> String {
    let plain = serde_json::from_slice::<Value>(bytes)
        .map(|value| sorted(value).to_string())
        .unwrap_or_default();
    let digest = Sha256::digest(plain.as_bytes());
    digest
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(String, Value)> = map
                .into_iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            pairs.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(pairs.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// `Prefer: wait=30` (RFC 7240).
fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all("prefer").iter();
    let mut wishes = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split([',', ';']));
    let seconds = wishes.find_map(|spec| {
        let (name, value) = spec.trim().split_once('=')?;
        let is_wait = name.trim().eq_ignore_ascii_case("wait");
        is_wait.then(|| value.trim().trim_matches('"').parse::<u32>().ok())?
    })?;
    Some(Duration::from_secs(u64::from(seconds)).min(MAX_WAIT))
}

fn cursor_of(row: &DebateRow) -> String {
    format!("{}.{}", row.created_at, row.id)
}

impl Listing {
    /// Everything that is wrong with a listing's parameters, at once.
    fn filter(self) -> Result<Filter, Problem> {
        let mut faults = Vec::new();
        let mut wrong = |at: &str, message: String| faults.push(Fault::new(at, message));
        let state = self.state.filter(|state| !state.is_empty());
        let state = state.and_then(|name| {
            let known = DebateState::ALL.into_iter();
            let found = known.clone().find(|state| state.name() == name);
            if found.is_none() {
                let names: Vec<_> = known.map(DebateState::name).collect();
                wrong(
                    "state",
                    format!("'{name}' is no state; there are: {}", names.join(", ")),
                );
            }
            found
        });
        let mut time = |at: &str, text: Option<String>| {
            let text = text.filter(|text| !text.is_empty())?;
            let parsed = parse_time(&text);
            if parsed.is_none() {
                let message =
                    format!("'{text}' is no time: write 2026-03-01 or 2026-03-01T12:00:00Z");
                wrong(at, message);
            }
            parsed
        };
        let since = time("since", self.since);
        let until = time("until", self.until);
        let limit = self.limit.map_or(Some(PAGE), |text| {
            let limit = text.parse().ok();
            limit.filter(|limit| (1..=MAX_PAGE).contains(limit))
        });
        if limit.is_none() {
            wrong("limit", format!("limit goes from 1 to {MAX_PAGE}"));
        }
        let after = self.cursor.map(|text| parse_cursor(&text));
        if after == Some(None) {
            wrong("cursor", "this cursor is of no listing".into());
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
            limit: limit.unwrap_or(PAGE),
            offset: 0,
        })
    }
}

fn parse_time(text: &str) -> Option<u64> {
    let at_midnight = || format!("{text}T00:00:00Z").parse::<jiff::Timestamp>();
    let at = text
        .parse::<jiff::Timestamp>()
        .or_else(|_| at_midnight())
        .ok()?;
    u64::try_from(at.as_millisecond()).ok()
}

fn parse_cursor(text: &str) -> Option<ListPosition> {
    let (created_at, id) = text.split_once('.')?;
    Some(ListPosition {
        created_at: created_at.parse().ok().filter(|at| *at < 1 << 62)?,
        id: id.parse().ok()?,
    })
}

#[cfg(test)]
#[path = "rest_tests.rs"]
mod tests;
