//! The rules of a forecast: the request, the rubric, and the weights that the roles have earned so far.
//!
//! The weights are stored here once, so that a replay gives the same result after further forecasts have been resolved.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use roundtable_core::forecast::{
    Criteria, Distribution, DomainPool, Question, Seat as CrowdSeat, learned,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Forecast;
use super::contract::{DebateRequest, Outcome};
use super::prompt_inputs::{self, LARGEST_TOKENS, ORDINARY_TOKENS};
use super::request::{self, Fault};
use super::scale::{Edge, Scale};
use crate::cast::{Cast, Duty, Rubric, Seat};
use crate::event::{Entry, Millis};
use crate::protocol::Protocol;
use crate::round_value::ValueRules;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// From the request; all surfaces read it here.
    pub rounds: u32,
    pub request: DebateRequest,
    pub criteria: Criteria,
    pub rubric: Vec<Rubric>,
    /// Knowledge from resolved forecasts about models and roles, for the accuracy pool. `None` in forecasts of earlier versions,
    /// which have `standings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<DomainPool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standings: Vec<Standing>,
    pub domain: Option<String>,
    /// The day after which the outcome is known.
    pub resolves_on: Option<Date>,
    /// The day of the request. `None` in forecasts of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub today: Option<Date>,
    /// The maximum input of an argument call, see `prompt_inputs`.
    #[serde(default = "ordinary_tokens")]
    pub max_prompt_tokens: u64,
    /// The number or date that is asked for; the outcomes are its bins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// The forecast of a market or a crowd, which the roles do not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Distribution>,
    /// Whether the crowd has a learned weight in the accuracy pool.
    #[serde(default, skip_serializing_if = "is_not")]
    pub is_crowd_prior: bool,
    /// The user's notes.
    pub context: Option<String>,
    /// Whether every argument is scored by the rubric. `true` in forecasts of earlier versions.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub is_scored: bool,
    /// How the value of another round is judged. `None` in debates of earlier versions, which did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueRules>,
}

/// A role's weight in forecasts of earlier versions, learned from its Brier scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    pub role: String,
    pub weight: f64,
    pub shrunk_brier: Option<f64>,
    pub questions: usize,
    pub questions_in_domain: usize,
}

fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_not(value: &bool) -> bool {
    !*value
}

const fn ordinary_tokens() -> u64 {
    ORDINARY_TOKENS
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
    /// The resolved forecasts.
    pub history: Vec<Question>,
    pub now: Millis,
    pub settings: Settings,
}

/// The settings of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The maximum input of an argument call for requests with many facts.
    pub max_prompt_tokens: u64,
    /// Whether a crowd's forecast has a learned weight in the accuracy pool.
    #[serde(default)]
    pub is_crowd_prior: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_prompt_tokens: LARGEST_TOKENS,
            is_crowd_prior: false,
        }
    }
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
    let read = request::read(request, &known);
    let end = text_of(request.pointer(END));
    let resolves_on = end.as_deref().and_then(day);
    let undated = end.filter(|_| resolves_on.is_none()).map(|text| Fault {
        at: END.into(),
        problem: format!("invalid date '{text}': expected a date such as 2027-06-30"),
    });
    let (request, criteria) = match read {
        Ok(read) if faults.is_empty() && undated.is_none() => read,
        read => {
            faults.extend(read.err().into_iter().flatten());
            faults.extend(undated);
            return Err(faults);
        }
    };
    let task = &request.prediction_context.task;
    let domain = text_of(task.get("type"));
    let question = question_of(&request);
    let largest = context.settings.max_prompt_tokens;
    let now = i64::try_from(context.now).unwrap_or(i64::MAX);
    // The forecasts of one debate have the same outcomes, so they can be pooled.
    let learned = learned(&context.history, now).unwrap_or_default();
    let rules = Rules {
        rounds: request.config.rounds,
        rubric: rubric_for(&criteria, cast),
        criteria,
        learned: Some(learned.in_domain(domain.as_deref())),
        standings: Vec::new(),
        domain,
        resolves_on,
        today: day_of(context.now),
        max_prompt_tokens: prompt_inputs::token_limit(&request, &question, largest),
        scale: None,
        crowd: None,
        is_crowd_prior: context.settings.is_crowd_prior,
        context: context.context,
        is_scored: true,
        value: None,
        request,
    };
    Ok(ForecastPlan {
        question,
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

/// The seats in the order of the request. Their token limits are meant for arguments of the default length and are raised only if
/// the request asks for longer ones.
fn seats_for(cast: &Cast, request: &DebateRequest) -> Cast {
    let config = &request.config;
    let length = config.max_argument_length;
    let is_longer = u64::from(length) > request::DEFAULT_LENGTH;
    let needed = if is_longer { length * 2 } else { 0 };
    let roles = config.roles.iter().filter_map(|role| {
        let seat = cast.seats.iter().find(|seat| seat.name == *role)?;
        Some(Seat {
            max_output_tokens: seat.max_output_tokens.max(needed),
            // Kept with the debate, so that an update can have the same seats.
            seating: seat.seating.over(&cast.seating),
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

/// The end of the question's timeframe.
const END: &str = "/prediction_context/task/timeframe/end";

/// In UTC.
fn day_of(at: Millis) -> Option<Date> {
    let at = Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()?;
    Some(at.to_zoned(TimeZone::UTC).date())
}

/// The day in `2027-06-30` or `2027-06-30T12:00:00Z`.
fn day(text: &str) -> Option<Date> {
    let day: Option<Date> = text.parse().ok();
    day.or_else(|| text.get(..10)?.parse().ok())
}

/// The name of the crowd in the pool that learns, as agent and as group.
pub(super) const CROWD: &str = "crowd";

impl Rules {
    /// The crowd as a seat of the pool that learns. It learns from every crowd forecast, also while it has no weight.
    pub(super) fn crowd_seat(&self) -> Option<(CrowdSeat, &Distribution)> {
        let seat = CrowdSeat {
            agent: CROWD.to_owned(),
            group: Some(CROWD.to_owned()),
        };
        Some((seat, self.crowd.as_ref()?))
    }

    /// The outcome that is named by its id, by its label in any case, or by a value of the scale, which is returned too.
    pub fn find_outcome(&self, given: &str) -> Option<(&Outcome, Option<Edge>)> {
        let given = given.trim();
        let outcomes = &self.request.prediction_context.outcomes;
        let by_id = outcomes.iter().find(|outcome| outcome.id == given);
        let wanted = given.to_lowercase();
        let by_label = || {
            let mut outcomes = outcomes.iter();
            outcomes.find(|outcome| outcome.label.to_lowercase() == wanted)
        };
        let by_value = || {
            let scale = self.scale.as_ref()?;
            let value = scale.value_of(given)?;
            Some((scale.outcome_of(value, outcomes)?, Some(value)))
        };
        let named = by_id.or_else(by_label).map(|outcome| (outcome, None));
        named.or_else(by_value)
    }

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
