//! What happened in the world, and how good the forecasts were. Nothing is scored before its day is over.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use roundtable_core::forecast::{Distribution, Observation, brier, log_score};
use schemars::JsonSchema;
use serde::Serialize;

use super::contract::OutcomeProbability;
use super::result::{Folded, stamp};
use crate::event::{Entry, Event, Millis};

/// The last word on what happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Resolution {
    pub outcome: String,
    pub at: String,
    pub by: Option<String>,
    #[serde(skip)]
    pub at_ms: Millis,
}

/// The last resolution counts; one that takes back leaves none.
pub fn resolution_of(entries: &[Entry]) -> Option<Resolution> {
    let mut found = None;
    for entry in entries {
        if let Event::Resolved { outcome, by, .. } = &entry.event {
            found = outcome.as_ref().map(|outcome| Resolution {
                outcome: outcome.clone(),
                at: stamp(entry.at),
                by: by.clone(),
                at_ms: entry.at,
            });
        }
    }
    found
}

/// A debate's forecasts against what happened. Lower is better throughout.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Scored {
    pub debate_id: String,
    pub question: String,
    pub domain: Option<String>,
    pub outcome: String,
    /// When it was both known what happened and the day of resolution over.
    #[serde(skip)]
    pub known_at: Millis,
    pub debate: Score,
    pub accuracy_pool: Option<Score>,
    pub blind_first_round: Option<Score>,
    pub roles: BTreeMap<String, Score>,
    pub uniform: Score,
    pub simulation: Option<Score>,
    /// Every outcome's probability and whether it happened, for the reliability diagram.
    #[serde(skip)]
    pub forecasts: Vec<(f64, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    pub brier: f64,
    pub log: f64,
}

impl Score {
    fn of(forecast: &Distribution, happened: usize) -> Option<Self> {
        Some(Self {
            brier: brier(forecast, happened)?,
            log: log_score(forecast, happened)?,
        })
    }
}

/// The moment from which a question of that day counts as past: the day after begins, in UTC.
pub(super) fn past(day: Date) -> Option<Millis> {
    let next = day.tomorrow().ok()?;
    let begin = next.to_zoned(TimeZone::UTC).ok()?.timestamp();
    u64::try_from(begin.as_millisecond()).ok()
}

/// `None` where there is nothing to score: no forecast, no resolution, or a day that is not over `now`.
pub fn scored(id: &str, entries: &[Entry], now: Millis) -> Option<Scored> {
    let resolution = resolution_of(entries)?;
    let folded = Folded::of(entries)?;
    let over = folded.rules.resolves_on.map_or(Some(0), past)?;
    let known_at = resolution.at_ms.max(over);
    if now < over {
        return None;
    }
    let outcomes = folded.rules.outcome_ids();
    let happened = outcomes.iter().position(|it| *it == resolution.outcome)?;
    let forecast = &folded.verdict.probability_distribution;
    let values: Vec<f64> = forecast.iter().map(|it| it.probability).collect();
    let debate = Distribution::normalised(&values).ok()?;
    let extras = &folded.verdict.roundtable;
    let score = |given: &[OutcomeProbability]| {
        let values: Vec<f64> = given.iter().map(|it| it.probability.value()).collect();
        Score::of(&Distribution::normalised(&values).ok()?, happened)
    };
    let mut by_role: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for it in forecast.iter().flat_map(|it| &it.role_assessments) {
        by_role
            .entry(it.role.clone())
            .or_default()
            .push(it.probability);
    }
    let numbered = debate.values().iter().enumerate();
    Some(Scored {
        debate_id: id.to_owned(),
        question: folded.setup.question.clone(),
        domain: folded.rules.domain.clone(),
        outcome: resolution.outcome,
        known_at,
        debate: Score::of(&debate, happened)?,
        accuracy_pool: extras
            .accuracy_pool
            .as_ref()
            .and_then(|it| score(&it.probabilities)),
        blind_first_round: extras
            .worth
            .as_ref()
            .and_then(|it| score(&it.blind.probabilities)),
        roles: by_role
            .into_iter()
            .filter_map(|(role, values)| {
                let forecast = Distribution::normalised(&values).ok()?;
                Some((role, Score::of(&forecast, happened)?))
            })
            .collect(),
        uniform: Score::of(&Distribution::uniform(outcomes.len()).ok()?, happened)?,
        simulation: extras.baselines.simulation.as_deref().and_then(score),
        forecasts: numbered
            .map(|(place, value)| (*value, place == happened))
            .collect(),
    })
}

/// What each role is to learn from a scored debate.
pub fn observations(scored: &Scored) -> Vec<Observation> {
    let roles = scored.roles.iter();
    roles
        .map(|(role, score)| Observation {
            role: role.clone(),
            domain: scored.domain.clone(),
            brier: score.brier,
            known_at: scored.known_at,
        })
        .collect()
}

#[cfg(test)]
#[path = "resolution_tests.rs"]
mod tests;
