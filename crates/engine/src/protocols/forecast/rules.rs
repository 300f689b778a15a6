//! What a forecasting debate is opened with: the request, the rubric, and what the roles have earned so far.
//!
//! Learned weights come in here once, so that playing the debate again gives the same result whatever has resolved since.

use jiff::civil::Date;
use roundtable_core::forecast::{Criteria, Distribution, Observation, Standing, standings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contract::DebateRequest;
use super::request::{self, Fault};
use crate::cast::{Cast, Duty, Rubric, Seat};
use crate::event::Millis;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// As the request says; here every surface finds it.
    pub rounds: u32,
    pub request: DebateRequest,
    pub criteria: Criteria,
    pub rubric: Vec<Rubric>,
    /// What the roles have earned in this domain, for the second probability.
    pub standings: Vec<Standing>,
    pub domain: Option<String>,
    /// The day after which it is known what happened.
    pub resolves_on: Option<Date>,
    /// The asker's own notes.
    pub context: Option<String>,
}

/// A debate ready to be opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    pub question: String,
    /// The seats this debate needs: its roles, the scorer and the synthesizer.
    pub cast: Cast,
    pub rules: Rules,
}

/// What is known before the debate beside the request.
#[derive(Debug, Clone, Default)]
pub struct Before {
    pub context: Option<String>,
    /// Every role's record on questions that have resolved.
    pub history: Vec<Observation>,
    pub now: Millis,
}

/// Reads a request for this cast. Every fault is named.
pub fn open(request: &Value, cast: &Cast, before: Before) -> Result<Opening, Vec<Fault>> {
    let mut faults = cast_faults(cast);
    let known: Vec<String> = cast
        .seats
        .iter()
        .filter(|it| argues(it))
        .map(|it| it.name.clone())
        .collect();
    let (request, criteria) = match request::read(request, &known) {
        Ok(read) => read,
        Err(found) => {
            faults.extend(found);
            return Err(faults);
        }
    };
    let task = &request.prediction_context.task;
    let domain = text_of(task.get("type"));
    let resolves_on = match text_of(task.get("timeframe").and_then(|it| it.get("end"))) {
        None => None,
        Some(text) => {
            let found = day(&text);
            if found.is_none() {
                faults.push(Fault {
                    at: "/prediction_context/task/timeframe/end".into(),
                    problem: format!("'{text}' is no date: write it as 2027-06-30"),
                });
            }
            found
        }
    };
    if !faults.is_empty() {
        return Err(faults);
    }
    let roles = &request.config.roles;
    let standings = standings(roles, &before.history, domain.as_deref(), before.now);
    let rules = Rules {
        rounds: request.config.rounds,
        rubric: rubric_for(&criteria, cast),
        criteria,
        standings,
        domain,
        resolves_on,
        context: before.context,
        request,
    };
    Ok(Opening {
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
    let with = |duty: Duty| cast.seats.iter().filter(|it| it.duty == Some(duty)).count();
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

/// In the order of the request, with room for the arguments it asks for.
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

/// The cast's bands for a criterion; general ones for a criterion that it does not know.
fn rubric_for(criteria: &Criteria, cast: &Cast) -> Vec<Rubric> {
    let known = |name: &str| cast.criteria.iter().find(|it| it.name == name).cloned();
    let general = |name: String| Rubric {
        name,
        bands: ["weak", "moderate", "strong", "exceptional"].map(str::to_owned),
    };
    let names = criteria.names().into_iter();
    names
        .map(|name| known(&name).unwrap_or_else(|| general(name)))
        .collect()
}

/// The task's own words; where it has none, what it says of itself.
fn question_of(request: &DebateRequest) -> String {
    let task = &request.prediction_context.task;
    for name in ["raw_query", "question", "title", "description"] {
        if let Some(text) = text_of(task.get(name)) {
            return text;
        }
    }
    let mut question = "Which of these outcomes will happen".to_owned();
    if let Some(region) = text_of(task.get("region")) {
        question = format!("{question} in {region}");
    }
    if let Some(end) = text_of(task.get("timeframe").and_then(|it| it.get("end"))) {
        question = format!("{question} by {end}");
    }
    question.push('?');
    question
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

    /// What the simulation of the request says, where it says something about the outcomes.
    pub fn simulation(&self) -> Option<Distribution> {
        let summary = self
            .request
            .prediction_context
            .simulation_summary
            .as_ref()?;
        let given = &summary.final_distribution;
        let values = self.outcome_ids().into_iter().map(|id| {
            let found = given.iter().find(|it| it.outcome_id == id);
            found.map_or(0.0, |it| it.probability.value())
        });
        Distribution::normalised(&values.collect::<Vec<_>>()).ok()
    }
}
