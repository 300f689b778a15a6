//! The rules of a forecast: the request, the rubric, and the weights that the roles have earned so far.
//!
//! The weights are stored here once, so that a replay gives the same result whatever has been resolved since.

use jiff::civil::Date;
use roundtable_core::forecast::{Criteria, Distribution, Observation, Standing, standings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Forecast;
use super::contract::DebateRequest;
use super::request::{self, Fault};
use crate::cast::{Cast, Duty, Rubric, Seat};
use crate::event::{Entry, Millis};
use crate::protocol::Protocol;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// From the request; all surfaces read it here.
    pub rounds: u32,
    pub request: DebateRequest,
    pub criteria: Criteria,
    pub rubric: Vec<Rubric>,
    /// The roles' weights in this domain, for the accuracy pool.
    pub standings: Vec<Standing>,
    pub domain: Option<String>,
    /// The day after which the outcome is known.
    pub resolves_on: Option<Date>,
    /// The user's notes.
    pub context: Option<String>,
    /// Whether every argument is scored by the rubric. `true` in forecasts of earlier versions.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub is_scored: bool,
}

fn yes() -> bool {
    true
}

impl Rules {
    /// The rules of a forecast's journal. `None` for debates of other protocols.
    pub fn of(entries: &[Entry]) -> Option<Self> {
        let setup = entries.iter().find_map(|entry| entry.event.setup())?;
        let is_forecast = setup.protocol == Forecast::NAME;
        is_forecast.then(|| Self::deserialize(&setup.rules).ok())?
    }
}

/// A validated request.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastPlan {
    pub question: String,
    /// The seats of this debate: its roles, the scorer and the synthesizer.
    pub cast: Cast,
    pub rules: Rules,
}

/// The inputs of a plan in addition to the request.
#[derive(Debug, Clone, Default)]
pub struct ForecastContext {
    pub context: Option<String>,
    /// Every role's results on resolved forecasts.
    pub history: Vec<Observation>,
    pub now: Millis,
}

/// Validates a request for this cast. Reports all faults at once.
pub fn plan(
    request: &Value,
    cast: &Cast,
    context: ForecastContext,
) -> Result<ForecastPlan, Vec<Fault>> {
    let mut faults = cast_faults(cast);
    let seats = cast.seats.iter().filter(|seat| argues(seat));
    let known: Vec<String> = seats.map(|seat| seat.name.clone()).collect();
    let (request, criteria) = match request::read(request, &known) {
        Ok(read) => read,
        Err(found) => {
            faults.extend(found);
            return Err(faults);
        }
    };
    let task = &request.prediction_context.task;
    let domain = text_of(task.get("type"));
    let end = end_of(&request);
    let resolves_on = end.as_deref().and_then(day);
    if let Some(text) = end.filter(|_| resolves_on.is_none()) {
        faults.push(Fault {
            at: "/prediction_context/task/timeframe/end".into(),
            problem: format!("invalid date '{text}': expected a date such as 2027-06-30"),
        });
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let roles = &request.config.roles;
    let standings = standings(roles, &context.history, domain.as_deref(), context.now);
    let rules = Rules {
        rounds: request.config.rounds,
        rubric: rubric_for(&criteria, cast),
        criteria,
        standings,
        domain,
        resolves_on,
        context: context.context,
        is_scored: true,
        request,
    };
    Ok(ForecastPlan {
        question: question_of(&rules.request),
        cast: seats_for(cast, &rules.request),
        rules,
    })
}

pub(super) fn argues(seat: &Seat) -> bool {
    match seat.duty {
        None | Some(Duty::Judge | Duty::Precedents) => true,
        Some(Duty::Score | Duty::Synthesis) => false,
    }
}

fn cast_faults(cast: &Cast) -> Vec<Fault> {
    let with = |duty: Duty| {
        let seats = cast.seats.iter();
        seats.filter(|seat| seat.duty == Some(duty)).count()
    };
    let mut faults = Vec::new();
    let mut fault = |problem: String| {
        faults.push(Fault {
            at: format!("cast '{}'", cast.name),
            problem,
        });
    };
    for (duty, name) in [(Duty::Score, "score"), (Duty::Synthesis, "synthesis")] {
        if with(duty) != 1 {
            fault(format!("needs exactly one seat with the duty '{name}'"));
        }
    }
    if with(Duty::Judge) > 1 {
        fault("has more than one judge".into());
    }
    faults
}

/// The seats in the order of the request, with token limits for the requested argument length.
fn seats_for(cast: &Cast, request: &DebateRequest) -> Cast {
    let config = &request.config;
    let roles = config.roles.iter().filter_map(|role| {
        let seat = cast.seats.iter().find(|seat| seat.name == *role)?;
        Some(Seat {
            max_output_tokens: seat.max_output_tokens.max(config.max_argument_length * 2),
            ..seat.clone()
        })
    });
    let others = cast.seats.iter().filter(|seat| !argues(seat)).cloned();
    Cast {
        seats: roles.chain(others).collect(),
        ..cast.clone()
    }
}

/// The cast's bands for each criterion; general bands for a criterion that it does not have.
fn rubric_for(criteria: &Criteria, cast: &Cast) -> Vec<Rubric> {
    let rubrics = criteria.names().into_iter().map(|name| {
        let known = cast.criteria.iter().find(|rubric| rubric.name == name);
        known.cloned().unwrap_or_else(|| Rubric {
            name,
            bands: ["weak", "moderate", "strong", "exceptional"].map(str::to_owned),
        })
    });
    rubrics.collect()
}

/// The task's question; one made from its region and end date if it has none.
fn question_of(request: &DebateRequest) -> String {
    let task = &request.prediction_context.task;
    let mut names = ["raw_query", "question", "title", "description"].into_iter();
    if let Some(question) = names.find_map(|name| text_of(task.get(name))) {
        return question;
    }
    let region = text_of(task.get("region")).map(|region| format!(" in {region}"));
    let end = end_of(request).map(|end| format!(" by {end}"));
    format!(
        "Which of these outcomes will happen{}{}?",
        region.unwrap_or_default(),
        end.unwrap_or_default()
    )
}

fn end_of(request: &DebateRequest) -> Option<String> {
    let task = &request.prediction_context.task;
    text_of(task.get("timeframe")?.get("end"))
}

fn text_of(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The day in `2027-06-30` or `2027-06-30T12:00:00Z`.
fn day(text: &str) -> Option<Date> {
    let day: Option<Date> = text.parse().ok();
    day.or_else(|| text.get(..10)?.parse().ok())
}

impl Rules {
    pub fn outcome_ids(&self) -> Vec<String> {
        let outcomes = &self.request.prediction_context.outcomes;
        outcomes.iter().map(|outcome| outcome.id.clone()).collect()
    }

    /// The simulation's distribution, if the request has one.
    pub fn simulation(&self) -> Option<Distribution> {
        let context = &self.request.prediction_context;
        let given = &context.simulation_summary.as_ref()?.final_distribution;
        let values = self.outcome_ids().into_iter().map(|id| {
            let found = given.iter().find(|outcome| outcome.outcome_id == id);
            found.map_or(0.0, |outcome| outcome.probability.value())
        });
        Distribution::normalised(&values.collect::<Vec<_>>()).ok()
    }
}
