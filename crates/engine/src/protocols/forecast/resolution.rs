//! Resolutions and scores of forecasts. A forecast is scored only after its resolution date.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use roundtable_core::forecast::{Bins, Distribution, Question, Seat, brier, log_score};
use roundtable_core::value::Movement;
use schemars::JsonSchema;
use serde::Serialize;

use super::contract::OutcomeProbability;
use super::result::{ForecastSnapshot, stamp};
use super::rules::Rules;
use super::scale::Edge;
use crate::event::{Entry, Event, Millis, Setup};
use crate::journal::current;

/// The recorded outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Resolution {
    pub outcome: String,
    pub at: String,
    pub by: Option<String>,
    /// The number or date, of a question that asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(skip)]
    pub at_ms: Millis,
}

/// The last resolution counts; one without an outcome retracts the earlier ones.
pub fn resolution_of(entries: &[Entry]) -> Option<Resolution> {
    let (at_ms, outcome, by, value) =
        entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Resolved {
                outcome, by, value, ..
            } => Some((entry.at, outcome, by, value)),
            _ => None,
        })?;
    Some(Resolution {
        outcome: outcome.clone()?,
        at: stamp(at_ms),
        by: by.clone(),
        value: value.clone(),
        at_ms,
    })
}

/// The scores of a debate's forecasts. Lower is better.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Scored {
    pub debate_id: String,
    pub question: String,
    pub domain: Option<String>,
    pub outcome: String,
    /// When the outcome was recorded and the resolution date was over.
    #[serde(skip)]
    pub known_at: Millis,
    /// When the resolution date was over. Earlier the forecast has no score.
    #[serde(skip)]
    pub due_at: Millis,
    pub debate: Score,
    pub accuracy_pool: Option<Score>,
    pub blind_first_round: Option<Score>,
    pub roles: BTreeMap<String, Score>,
    /// Every role's last forecast, from which the pool learns.
    #[serde(skip)]
    pub panel: Vec<(Seat, Distribution)>,
    /// The outcome's index.
    #[serde(skip)]
    pub happened: usize,
    /// The number or date, if the question asks for one and it was recorded.
    #[serde(skip)]
    pub actual: Option<Actual>,
    /// When the forecast was made.
    #[serde(skip)]
    pub forecast_at: Millis,
    pub uniform: Score,
    pub simulation: Option<Score>,
    /// The market or crowd, if its forecast was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Score>,
    /// The debate's forecast.
    #[serde(skip)]
    pub forecast: Distribution,
    #[serde(skip)]
    pub outcomes: Vec<String>,
    /// The model families of the roles, by role.
    #[serde(skip)]
    pub families: BTreeMap<String, String>,
    /// The cost of everything after the blind first round, in US dollars, if it is known.
    #[serde(skip)]
    pub extra_cost: Option<f64>,
    /// The probability of every outcome and whether it happened, for the reliability diagram.
    #[serde(skip)]
    pub forecasts: Vec<(f64, bool)>,
    /// From the blind first round to the result.
    #[serde(skip)]
    pub movement: Option<Movement>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    pub brier: f64,
    pub log: f64,
    /// The continuous ranked probability score of a number or date whose value was recorded, in its unit (dates: days).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crps: Option<f64>,
}

/// The value that a question about a number or date came out with, and the bins of its scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Actual {
    pub bins: Bins,
    pub value: f64,
}

impl Actual {
    fn of(rules: &Rules, resolution: &Resolution) -> Option<Self> {
        let bins = rules.scale.as_ref()?.bins().ok()?;
        let value = Edge::parse(resolution.value.as_deref()?)?.position();
        Some(Self { bins, value })
    }
}

impl Score {
    pub(super) fn of(
        forecast: &Distribution,
        happened: usize,
        actual: Option<&Actual>,
    ) -> Option<Self> {
        Some(Self {
            brier: brier(forecast, happened)?,
            log: log_score(forecast, happened)?,
            crps: actual.and_then(|actual| actual.bins.crps(forecast, actual.value)),
        })
    }
}

/// The end of a day: midnight in UTC.
pub(super) fn end_of_day(day: Date) -> Option<Millis> {
    let next = day.tomorrow().ok()?;
    let begin = next.to_zoned(TimeZone::UTC).ok()?.timestamp();
    u64::try_from(begin.as_millisecond()).ok()
}

/// `None` without a forecast or a resolution, and before the end of the resolution date.
pub fn scored(id: &str, entries: &[Entry], now: Millis) -> Option<Scored> {
    let entries = &*current(entries);
    let resolution = resolution_of(entries)?;
    let snapshot = ForecastSnapshot::of(entries)?;
    let over = snapshot.rules.resolves_on.map_or(Some(0), end_of_day)?;
    let known_at = resolution.at_ms.max(over);
    if now < over {
        return None;
    }
    let outcomes = snapshot.rules.outcome_ids();
    let happened = outcomes.iter().position(|id| *id == resolution.outcome)?;
    let forecast = &snapshot.verdict.probability_distribution;
    let values: Vec<f64> = forecast.iter().map(|outcome| outcome.probability).collect();
    let debate = Distribution::normalised(&values).ok()?;
    let extras = &snapshot.verdict.roundtable;
    let actual = Actual::of(&snapshot.rules, &resolution);
    let scored = |forecast: &Distribution| Score::of(forecast, happened, actual.as_ref());
    let score = |values: &[f64]| scored(&Distribution::normalised(values).ok()?);
    let listed = |given: &Vec<OutcomeProbability>| {
        let values = given.iter().map(|outcome| outcome.probability.value());
        score(&values.collect::<Vec<_>>())
    };
    let mut by_role: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for assessment in forecast
        .iter()
        .flat_map(|outcome| &outcome.role_assessments)
    {
        let values = by_role.entry(assessment.role.clone()).or_default();
        values.push(assessment.probability);
    }
    let (pool, worth) = (extras.accuracy_pool.as_ref(), extras.worth.as_ref());
    let numbered = debate.values().iter().enumerate();
    Some(Scored {
        debate_id: id.to_owned(),
        question: snapshot.setup.question.clone(),
        domain: snapshot.rules.domain.clone(),
        outcome: resolution.outcome,
        known_at,
        due_at: over,
        debate: scored(&debate)?,
        accuracy_pool: pool.and_then(|pool| listed(&pool.probabilities)),
        blind_first_round: worth.and_then(|worth| listed(&worth.blind.probabilities)),
        panel: panel(snapshot.setup, &snapshot.rules, &by_role),
        happened,
        forecast_at: entries.iter().rev().find_map(|entry| {
            let is_step = entry.event.finished().is_some();
            is_step.then_some(entry.at)
        })?,
        roles: by_role
            .into_iter()
            .filter_map(|(role, values)| Some((role, score(&values)?)))
            .collect(),
        uniform: scored(&Distribution::uniform(outcomes.len()).ok()?)?,
        simulation: extras.baselines.simulation.as_ref().and_then(listed),
        crowd: snapshot.rules.crowd.as_ref().and_then(scored),
        families: families(snapshot.setup),
        extra_cost: worth.and_then(|worth| {
            let (all, blind) = (worth.debated.cost?, worth.blind.cost?);
            Some((all.dollars() - blind.dollars()).max(0.0))
        }),
        forecasts: numbered
            .map(|(index, value)| (*value, index == happened))
            .collect(),
        movement: worth.and_then(|worth| {
            let blind = worth.blind.probabilities.iter();
            let blind: Vec<f64> = blind.map(|outcome| outcome.probability.value()).collect();
            Movement::of(&blind, debate.values(), happened)
        }),
        outcomes,
        actual,
        forecast: debate,
    })
}

fn families(setup: &Setup) -> BTreeMap<String, String> {
    let seats = setup.seats.iter();
    let named = seats.filter_map(|seated| Some((seated.seat.name.clone(), seated.family.clone()?)));
    named.collect()
}

fn panel(
    setup: &Setup,
    rules: &Rules,
    by_role: &BTreeMap<String, Vec<f64>>,
) -> Vec<(Seat, Distribution)> {
    let panel = by_role.iter().filter_map(|(role, values)| {
        let seated = setup
            .seats
            .iter()
            .find(|seated| seated.seat.name == *role)?;
        let seat = Seat {
            agent: seated.model.clone(),
            group: Some(role.clone()),
        };
        Some((seat, Distribution::normalised(values).ok()?))
    });
    let crowd = rules.crowd_seat().map(|(seat, own)| (seat, own.clone()));
    panel.chain(crowd).collect()
}

impl Scored {
    /// The panel and the outcome, from which the pool learns (B-09). `None` if no role answered.
    pub fn question(&self) -> Option<Question> {
        let at = |millis: Millis| i64::try_from(millis).unwrap_or(i64::MAX);
        (!self.panel.is_empty()).then(|| Question {
            id: self.debate_id.clone(),
            domain: self.domain.clone(),
            cluster: self.question.clone(),
            forecasts: self.panel.clone(),
            forecast_at: at(self.forecast_at),
            resolved_at: at(self.known_at),
            outcome: self.happened,
        })
    }
}

#[cfg(test)]
#[path = "resolution_tests.rs"]
mod tests;
