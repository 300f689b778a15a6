//! The outcome of a debate, reported in the browser: the outcome of a forecast, events after a decision, and the post-mortem.

use std::sync::Arc;

use axum::extract::{Extension, Form, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::civil::Date;
use roundtable_core::learning::Domain;
use roundtable_engine::event::{Entry, State as DebateState};
use roundtable_engine::protocols::debate_record;
use roundtable_engine::protocols::forecast::{Rules, resolution_of};
use roundtable_engine::retrospective::{PostMortem, assessment_of, timeline_of, used_learning};

use super::super::Choice;
use super::super::fields::FieldValues;
use super::super::outcome::{OutcomeView, PostMortemForm, assessment, events, tracked};
use super::super::percent;
use super::super::routes::{frame, page};
use crate::clock;
use crate::failure::Fault;
use crate::format::short;
use crate::learning::plan_lesson;
use crate::server::App;
use crate::server::access::Caller;
use crate::server::audit::AuditNote;
use crate::server::problem::Problem;
use crate::server::{reasoning, rest};
use crate::store::{DebateRow, FollowUp, LearningError, Reach};

/// A debate that has a result, which can be compared with what happened.
struct Decided {
    row: DebateRow,
    entries: Vec<Entry>,
}

async fn decided(app: &App, caller: &Caller, id: &str) -> Result<Decided, Problem> {
    let row = rest::find(app, caller, id).await?;
    if !matches!(row.state, DebateState::Complete | DebateState::Partial) {
        let message = format!("this debate is {}, so it has no result", row.state.name());
        return Err(Problem::invalid_at("", message).renamed(StatusCode::CONFLICT, "no-result"));
    }
    let entries = app.store.entries(row.id).await?;
    Ok(Decided { row, entries })
}

impl Decided {
    fn view(&self, caller: &Caller) -> OutcomeView {
        let id = self.row.id.to_string();
        let (happened, value) = resolution_of(&self.entries)
            .map(|resolution| (resolution.outcome, resolution.value))
            .unzip();
        let rules = Rules::of(&self.entries);
        let has_scale = rules.as_ref().is_some_and(|rules| rules.scale.is_some());
        let outcomes = rules
            .iter()
            .flat_map(|rules| &rules.request.prediction_context.outcomes);
        let record = debate_record(&id, &self.entries);
        let record = record.filter(|record| record.final_consensus.is_some());
        let post_mortem = record
            // Lessons change the debates of everybody.
            .filter(|_| caller.reach == Reach::All)
            .map(|record| PostMortemForm::new(&record, assessment_of(&self.entries).is_some()));
        OutcomeView {
            id,
            question: short(&self.row.question, 200),
            problems: Vec::new(),
            outcomes: outcomes
                .map(|outcome| Choice {
                    value: outcome.id.clone(),
                    label: outcome.label.clone(),
                    is_chosen: happened.as_ref() == Some(&outcome.id),
                })
                .collect(),
            value: has_scale.then(|| value.flatten().unwrap_or_default()),
            events: events(&timeline_of(&self.entries)),
            post_mortem,
        }
    }

    /// The page again, with what is wrong with the submitted form.
    fn refused(&self, caller: &Caller, problem: &Problem) -> Response {
        let mut view = self.view(caller);
        view.problems = problem.messages();
        let body = view.page(frame("debates", Some(caller)));
        (problem.status(), page(body)).into_response()
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let decided = decided(&app, &caller, &id).await?;
    let view = decided.view(&caller);
    Ok(page(view.page(frame("debates", Some(&caller)))))
}

pub(crate) async fn resolve(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    Form(form): Form<FieldValues>,
) -> Result<Response, Problem> {
    let decided = decided(&app, &caller, &id).await?;
    let value = form.get("value").filter(|value| !value.trim().is_empty());
    let outcome = value
        .or_else(|| form.get("outcome"))
        .filter(|_| !form.contains_key("withdraw"));
    if outcome.is_none() && !form.contains_key("withdraw") {
        let problem = Problem::invalid_at("/outcome", "choose what happened");
        return Ok(decided.refused(&caller, &problem));
    }
    match reasoning::record_outcome(&app, &caller, &decided.row, outcome.cloned(), None).await {
        Ok(note) => Ok((Extension(note), Redirect::to("/calibration")).into_response()),
        Err(problem) => Ok(decided.refused(&caller, &problem)),
    }
}

pub(crate) async fn track(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    Form(form): Form<FieldValues>,
) -> Result<Response, Problem> {
    let decided = decided(&app, &caller, &id).await?;
    let today = clock::stamp(clock::now());
    let today = today.get(..10).and_then(|day| day.parse::<Date>().ok());
    let today = today.ok_or_else(|| Problem::internal("the clock has no date"))?;
    let event = match tracked(&form, today) {
        Ok(event) => event,
        Err(faults) => return Ok(decided.refused(&caller, &Problem::invalid(faults))),
    };
    let follow_up = FollowUp {
        tracked: vec![event],
        assessment: None,
    };
    app.store
        .follow_up(decided.row.id, follow_up, clock::now())
        .await?;
    Ok(Redirect::to(&format!("/debates/{}/outcome", decided.row.id)).into_response())
}

/// Stores the assessment and what is learned from it, as `roundtable post-mortem` does.
pub(crate) async fn assess(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    Form(form): Form<FieldValues>,
) -> Result<Response, Problem> {
    let decided = decided(&app, &caller, &id).await?;
    if caller.reach != Reach::All {
        let detail =
            "requires a token with reach 'all', because lessons change the debates of everybody";
        return Err(Problem::new(StatusCode::FORBIDDEN, "reach", detail));
    }
    match learn(&app, &decided, &form).await {
        Ok(domain) => {
            let note = AuditNote::detail("post-mortem");
            let address = format!("/learning?domain={}", percent(domain.name()));
            Ok((Extension(note), Redirect::to(&address)).into_response())
        }
        Err(problem) => Ok(decided.refused(&caller, &problem)),
    }
}

async fn learn(app: &App, decided: &Decided, form: &FieldValues) -> Result<Domain, Problem> {
    let (row, entries) = (&decided.row, &decided.entries);
    let record = debate_record(&row.id.to_string(), entries)
        .ok_or_else(|| Problem::internal("a journal without its first entry"))?;
    let assessment = assessment(form, &record).map_err(Problem::invalid)?;
    let domain = match form.get("domain").map(|name| name.trim()) {
        None | Some("") => Domain::general(),
        Some(name) => {
            Domain::new(name).map_err(|error| Problem::invalid_at("/domain", error.to_string()))?
        }
    };
    let (course, with_learning) = (timeline_of(entries), used_learning(entries));
    let post_mortem =
        PostMortem::new(record, course, assessment.clone(), with_learning).map_err(|errors| {
            let faults = errors.iter().map(|error| Fault::new("", error.to_string()));
            Problem::invalid(faults.collect())
        })?;
    let now = clock::now();
    let lesson = post_mortem.lesson(domain.clone(), now);
    let plan = plan_lesson(lesson, app.context.config.learning.half_life);
    let follow_up = FollowUp {
        tracked: Vec::new(),
        assessment: Some(assessment),
    };
    let learned = app.store.assess(row.id, follow_up, plan, now).await;
    match learned {
        Ok(_) => Ok(domain),
        Err(LearningError::Refused(error)) => Err(Problem::invalid_at("", error.to_string())),
        Err(LearningError::Lease(error)) => Err(error.into()),
    }
}
