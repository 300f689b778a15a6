//! The API of the forecasting contract (F-16, F-17, F-18): forecasts, their resolution, and calibration.
//!
//! A request is answered with the result or, after the time limit, with 504 and the id of the debate, which continues.

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
    Calibration, DebateResult, Disagreement, Edge, Input, LoggedArgument, OutcomeForecast, Round,
    Rules, calibration_report, resolution_of,
};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::access::Caller;
use super::audit::AuditNote;
use super::problem::Problem;
use super::requests::{DebateRequest, ResolutionRequest, Sent};
use super::rest;
use super::web::{self, calibration_page};
use super::{App, off_runtime};
use crate::clock;
use crate::setup::DebateSpec;
use crate::store::{self, DebateRow, Filter, Resolution, Scope};

/// Seconds until the client should poll again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("2");

/// A forecast that has no result yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Pending {
    #[schemars(with = "String", extend("format" = "uuid"))]
    debate_id: Uuid,
    state: DebateState,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ForecastRound {
    round: Round,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ForecastArguments {
    arguments: Vec<LoggedArgument>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ForecastConsensus {
    consensus_score: Option<f64>,
    probability_distribution: Vec<OutcomeForecast>,
    disagreement_map: Vec<Disagreement>,
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    sent: Sent<DebateRequest>,
) -> Result<Response, Problem> {
    let request = store::CreateRequest {
        key: rest::idempotency_key(&headers, &caller)?,
        fingerprint: rest::fingerprint(&sent.bytes),
        token: caller.token,
        is_attended: false,
    };
    let created = if let Some(created) = app.store.find_created(&request).await? {
        created
    } else {
        let input = Input {
            request: Some(sent.content.0),
            ..Input::default()
        };
        let spec = DebateSpec {
            budget: app.context.config.limits.budget(),
            ..DebateSpec::new(&Forecast, String::new(), &input)
        };
        let started = rest::start(&app, &caller, spec, &request).await;
        started.map_err(|problem| problem.relative_to("/rules/request"))?
    };
    let id = rest::id_of(&created)?;
    if prefers_async(&headers) {
        return Ok(pending(id, DebateState::Running, Some("respond-async")));
    }
    app.scheduler.wait_for(id, app.answer_within).await;
    let row = rest::find(&app, &caller, &id.to_string()).await?;
    if row.ended_at.is_none() {
        return Err(too_late(id, app.answer_within));
    }
    Ok(Json(result_of(&app, &row).await?).into_response())
}

/// The result, or 202 while the debate runs.
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    part(&app, &caller, &id, Ok).await
}

pub(super) async fn round(
    State(app): State<Arc<App>>,
    Path((id, number)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    part(&app, &caller, &id, |result| {
        let wanted = number.parse::<u32>().ok();
        let rounds = result.debate_log.rounds;
        let count = rounds.len();
        let mut rounds = rounds.into_iter();
        let found = rounds.find(|round| Some(round.round_number) == wanted);
        let round = found.ok_or_else(|| {
            Problem::not_found(&format!("there is no such round; the debate has {count}"))
        })?;
        Ok(ForecastRound { round })
    })
    .await
}

pub(super) async fn role(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    part(&app, &caller, &id, |result| {
        let rounds = result.debate_log.rounds.into_iter();
        let all = rounds.flat_map(|round| round.arguments);
        let arguments: Vec<_> = all.filter(|argument| argument.role == name).collect();
        let has_seat = result.roundtable.models.contains_key(&name);
        if arguments.is_empty() && !has_seat {
            return Err(Problem::not_found("there is no such role in this debate"));
        }
        Ok(ForecastArguments { arguments })
    })
    .await
}

pub(super) async fn consensus(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    part(&app, &caller, &id, |result| {
        Ok(ForecastConsensus {
            consensus_score: result.consensus_score,
            probability_distribution: result.probability_distribution,
            disagreement_map: result.disagreement_map,
        })
    })
    .await
}

/// Records the outcome that happened.
pub(super) async fn resolve(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    sent: Sent<ResolutionRequest>,
) -> Result<Response, Problem> {
    let row = find(&app, &caller, &id).await?;
    let ResolutionRequest { outcome, by } = sent.content;
    let recorded = record_outcome(&app, &caller, &row, outcome, by).await?;
    Ok((Extension(recorded), StatusCode::NO_CONTENT).into_response())
}

/// Records or withdraws what happened.
pub(super) async fn record_outcome(
    app: &App,
    caller: &Caller,
    row: &DebateRow,
    outcome: Option<String>,
    by: Option<String>,
) -> Result<AuditNote, Problem> {
    let entries = app.store.entries(row.id).await?;
    let rules = Rules::of(&entries);
    let found = outcome.map(|given| {
        let found = rules.as_ref().and_then(|rules| rules.find_outcome(&given));
        found.ok_or_else(|| {
            let known = rules.as_ref().map(Rules::outcome_ids).unwrap_or_default();
            let message = format!("unknown outcome '{given}'; known: {}", known.join(", "));
            Problem::invalid_at("/outcome", message)
        })
    });
    let (outcome, value) = match found.transpose()? {
        Some((outcome, value)) => (Some(outcome.id.clone()), value.map(Edge::recorded)),
        None => (None, None),
    };
    let recorded = AuditNote::detail(match &outcome {
        Some(outcome) => format!("outcome '{outcome}'"),
        None => "withdrawn".to_owned(),
    });
    let by = caller.author(by);
    let resolving = Resolution { outcome, by, value };
    app.scheduler.resolve(row.id, resolving).await?;
    Ok(recorded)
}

/// The accuracy of resolved forecasts.
pub(super) async fn calibration(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Calibration>, Problem> {
    let now = clock::now();
    let scored = (app.context.forecasts)
        .scored(&app.store, caller.only(), now)
        .await?;
    Ok(Json(Calibration::of(scored, now)))
}

/// The same as a page.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Html<String>, Problem> {
    let now = clock::now();
    let scored = (app.context.forecasts)
        .scored(&app.store, caller.only(), now)
        .await?;
    let report = calibration_report(&Calibration::of(scored, now));
    let due = due_forecasts(&app, &caller).await?;
    let frame = web::frame("calibration", Some(&caller));
    Ok(Html(calibration_page(&report, &due, frame)))
}

/// The newest forecasts without an outcome, for callers who may record one.
async fn due_forecasts(app: &App, caller: &Caller) -> Result<Vec<DebateRow>, Problem> {
    const NEWEST: u32 = 20;
    if !caller.may(Scope::Run) {
        return Ok(Vec::new());
    }
    let filter = Filter {
        protocol: Some(Forecast::NAME.to_owned()),
        state: Some(DebateState::Complete),
        token: caller.only(),
        limit: NEWEST,
        ..Filter::default()
    };
    let mut due = Vec::new();
    for row in app.store.list_uncounted(&filter).await? {
        if resolution_of(&app.store.entries(row.id).await?).is_none() {
            due.push(row);
        }
    }
    Ok(due)
}

/// The chosen part of the result, or 202 while the debate runs.
async fn part<T: Serialize>(
    app: &App,
    caller: &Caller,
    id: &str,
    choose: impl FnOnce(DebateResult) -> Result<T, Problem>,
) -> Result<Response, Problem> {
    let row = find(app, caller, id).await?;
    if row.ended_at.is_none() {
        return Ok(pending(row.id, row.state, None));
    }
    let result = result_of(app, &row).await?;
    Ok(Json(choose(result)?).into_response())
}

/// The forecast with exactly this id. Debates of other protocols are not found.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<DebateRow, Problem> {
    let row = rest::find(app, caller, id).await?;
    if row.protocol == Forecast::NAME {
        Ok(row)
    } else {
        Err(Problem::not_found(&format!(
            "there is no forecast '{}'",
            row.id
        )))
    }
}

/// The result of a forecast that has ended, with probabilities.
pub(super) async fn finished(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Result<DebateResult, Problem> {
    let row = find(app, caller, id).await?;
    result_of(app, &row).await
}

/// The result of a complete or partial debate (F-18); an error for all others.
async fn result_of(app: &App, row: &DebateRow) -> Result<DebateResult, Problem> {
    let entries = app.store.entries(row.id).await?;
    let stamp = clock::stamp(row.created_at);
    let id = row.id.to_string();
    let result = off_runtime(move || DebateResult::of(&id, stamp, &entries))
        .await?
        .ok_or_else(|| Problem::internal("a journal without its first entry"))?;
    match row.state {
        DebateState::Complete | DebateState::Partial => Ok(result),
        DebateState::Failed => {
            let reason = result.roundtable.reason.unwrap_or_default();
            let detail = format!("no model answered: {reason}");
            Err(Problem::new(StatusCode::BAD_GATEWAY, "no-model", detail).about(row.id))
        }
        DebateState::Cancelled
        | DebateState::Interrupted
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
    let body = Pending {
        debate_id: id,
        state,
    };
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
        "no result within {} s; debate {id} continues",
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
    let preferences = lines.filter_map(|line| line.to_str().ok());
    preferences
        .flat_map(|line| line.split(','))
        .filter_map(|preference| preference.split(';').next())
        .any(|name| name.trim().eq_ignore_ascii_case("respond-async"))
}
