//! The forecasting contract's interface (F-16, F-17, F-18): a request is answered with its result, or, after the contract's
//! time, with the id of a debate that goes on. Beside it what happened, and how good the forecasts were.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use roundtable_engine::event::State as DebateState;
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Forecast;
use roundtable_engine::protocols::forecast::{
    Calibration, DebateResult, Input, Rules, calibration_report,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::App;
use super::access::Caller;
use super::problem::Problem;
use super::requests::{DebateRequest, ResolutionRequest, Sent};
use super::rest;
use super::web::{self, calibration_page};
use crate::failure::Fault;
use crate::setup::DebateSpec;
use crate::store::{self, DebateRow, Resolution};
use crate::{clock, forecast_history};

/// How long a caller should wait before it asks again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("2");

pub(super) async fn create(
    State(app): State<Arc<App>>,
    caller: Option<Extension<Caller>>,
    headers: HeaderMap,
    sent: Sent<DebateRequest>,
) -> Result<Response, Problem> {
    let request = store::CreateRequest {
        key: rest::idempotency_key(&headers, caller.as_deref())?,
        fingerprint: rest::fingerprint(&sent.bytes),
    };
    let created = match app.store.find_created(&request).await? {
        Some(created) => created,
        None => {
            let input = Input {
                request: Some(sent.content.0),
                ..Input::default()
            };
            let spec = DebateSpec {
                budget: app.context.config.limits.budget(),
                ..DebateSpec::new(&Forecast, String::new(), &input)
            };
            rest::start(&app, spec, &request).await?
        }
    };
    let id = rest::id_of(&created)?;
    if prefers_async(&headers) {
        return Ok(pending(id, DebateState::Running, Some("respond-async")));
    }
    app.scheduler.wait_for(id, app.answer_within).await;
    let row = rest::find(&app, &id.to_string()).await?;
    if row.ended_at.is_none() {
        return Err(too_late(id, app.answer_within));
    }
    Ok(Json(result_of(&app, &row).await?).into_response())
}

/// The whole result; while the debate runs, that it does.
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    if row.ended_at.is_none() {
        return Ok(pending(row.id, row.state, None));
    }
    Ok(Json(result_of(&app, &row).await?).into_response())
}

pub(super) async fn round(
    State(app): State<Arc<App>>,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, Problem> {
    part(&app, &id, |result| {
        let wanted = number.parse::<u32>().ok();
        let mut rounds = result.debate_log.rounds.iter();
        let found = rounds.find(|round| Some(round.round_number) == wanted);
        let found = found.ok_or_else(|| {
            let count = result.debate_log.rounds.len();
            Problem::not_found(&format!("there is no such round; the debate has {count}"))
        })?;
        Ok(json!({ "round": found }))
    })
    .await
}

pub(super) async fn role(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    part(&app, &id, |result| {
        let rounds = result.debate_log.rounds.iter();
        let all = rounds.flat_map(|round| &round.arguments);
        let said: Vec<_> = all.filter(|argument| argument.role == name).collect();
        let asked = result.roundtable.models.contains_key(&name);
        if said.is_empty() && !asked {
            return Err(Problem::not_found("there is no such role in this debate"));
        }
        Ok(json!({ "arguments": said }))
    })
    .await
}

pub(super) async fn consensus(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    part(&app, &id, |result| {
        Ok(json!({
            "consensus_score": result.consensus_score,
            "probability_distribution": result.probability_distribution,
            "disagreement_map": result.disagreement_map,
        }))
    })
    .await
}

/// What happened in the world.
pub(super) async fn resolve(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    caller: Option<Extension<Caller>>,
    sent: Sent<ResolutionRequest>,
) -> Result<StatusCode, Problem> {
    let row = find(&app, &id).await?;
    let ResolutionRequest { outcome, by } = sent.content;
    let entries = app.store.entries(row.id).await?;
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let rules = setup.and_then(|it| serde_json::from_value::<Rules>(it.rules.clone()).ok());
    let known = rules.map(|rules| rules.outcome_ids()).unwrap_or_default();
    if let Some(outcome) = &outcome
        && !known.contains(outcome)
    {
        let message = format!(
            "there is no outcome '{outcome}'; there are: {}",
            known.join(", ")
        );
        return Err(Problem::invalid(vec![Fault::new("/outcome", message)]));
    }
    let by = by.or_else(|| caller.and_then(|caller| caller.name.clone()));
    let resolving = Resolution { outcome, by };
    app.store.resolve(row.id, resolving, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How good the forecasts were.
pub(super) async fn calibration(State(app): State<Arc<App>>) -> Result<Json<Calibration>, Problem> {
    let now = clock::now();
    let scored = forecast_history::scored_debates(&app.store, now).await?;
    Ok(Json(Calibration::of(scored, now)))
}

/// The same for people.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    caller: Option<Extension<Caller>>,
) -> Result<Html<String>, Problem> {
    let now = clock::now();
    let scored = forecast_history::scored_debates(&app.store, now).await?;
    let report = calibration_report(&Calibration::of(scored, now));
    let frame = web::frame("calibration", caller.as_deref());
    Ok(Html(calibration_page(&report, frame)))
}

/// A part of a result that is there.
async fn part(
    app: &App,
    id: &str,
    choose: impl FnOnce(&DebateResult) -> Result<Value, Problem>,
) -> Result<Response, Problem> {
    let row = find(app, id).await?;
    if row.ended_at.is_none() {
        return Ok(pending(row.id, row.state, None));
    }
    let result = result_of(app, &row).await?;
    Ok(Json(choose(&result)?).into_response())
}

/// The forecast with exactly this id; a debate of another protocol is none.
async fn find(app: &App, id: &str) -> Result<DebateRow, Problem> {
    let row = rest::find(app, id).await?;
    if row.protocol == Forecast::NAME {
        Ok(row)
    } else {
        Err(Problem::not_found(&format!(
            "there is no forecast '{}'",
            row.id
        )))
    }
}

/// A partial result is one (F-18); where nobody could be asked at all there is none.
async fn result_of(app: &App, row: &DebateRow) -> Result<DebateResult, Problem> {
    let entries = app.store.entries(row.id).await?;
    let stamp = clock::stamp(row.created_at);
    let result = DebateResult::of(&row.id.to_string(), stamp, &entries)
        .ok_or_else(|| Problem::internal("a journal without its first entry"))?;
    match row.state {
        DebateState::Complete | DebateState::Partial => Ok(result),
        DebateState::Failed => {
            let reason = result.roundtable.reason.unwrap_or_default();
            let detail = format!("no role could be heard: {reason}");
            Err(Problem::new(StatusCode::BAD_GATEWAY, "no-model", detail).about(row.id))
        }
        DebateState::Cancelled
        | DebateState::Queued
        | DebateState::Running
        | DebateState::Waiting => {
            let detail = format!("the debate is {} and has no result", row.state.name());
            Err(Problem::new(StatusCode::CONFLICT, "wrong-state", detail).about(row.id))
        }
    }
}

fn location(id: Uuid) -> HeaderValue {
    HeaderValue::from_str(&format!("/api/v1/reasoning/debate/{id}"))
        .unwrap_or(HeaderValue::from_static("/"))
}

fn pending(id: Uuid, state: DebateState, applied: Option<&'static str>) -> Response {
    let body = json!({ "debate_id": id, "state": state.name() });
    let mut response = (StatusCode::ACCEPTED, Json(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, location(id));
    headers.insert(header::RETRY_AFTER, RETRY_AFTER);
    if let Some(applied) = applied {
        let name = HeaderName::from_static("preference-applied");
        headers.insert(name, HeaderValue::from_static(applied));
    }
    response
}

fn too_late(id: Uuid, limit: Duration) -> Problem {
    let detail = format!(
        "the debate takes longer than {} s; it goes on as {id}",
        limit.as_secs_f64()
    );
    Problem::new(StatusCode::GATEWAY_TIMEOUT, "still-running", detail)
        .about(id)
        .with(header::LOCATION, location(id))
        .with(header::RETRY_AFTER, RETRY_AFTER)
}

/// `Prefer: respond-async` (RFC 7240).
fn prefers_async(headers: &HeaderMap) -> bool {
    let lines = headers.get_all("prefer").iter();
    let wishes = lines.filter_map(|line| line.to_str().ok());
    wishes
        .flat_map(|line| line.split(','))
        .filter_map(|spec| spec.split(';').next())
        .any(|spec| spec.trim().eq_ignore_ascii_case("respond-async"))
}
