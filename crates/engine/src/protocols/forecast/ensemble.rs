//! Combines the distributions of several forecasting engines (F-20, F-22), and calibrates the result by the resolved forecasts
//! of the store.

use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::distinct::distinct;
use roundtable_core::forecast::{
    Combined, DEBATE_WEIGHT, Distribution, LearnedPool, Opinion, Question, Seat, combine, learned,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::OutcomeProbability;
use super::request::{Fault, SUM_TOLERANCE};
use super::resolution::Scored;
use super::result::DebateResult;

/// The number of resolved forecasts that weigh as much as the assumption that no correction is needed.
pub const MIN_RESOLVED: usize = 30;

/// Forecasts of the same question by several engines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnsembleRequest {
    #[schemars(length(min = 2, max = 50))]
    pub engines: Vec<Engine>,
}

/// One engine: a distribution with its weight and confidence, or a finished forecast of the store, which has all three.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EnsembleEngine")]
pub struct Engine {
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Before the confidence is applied. The weight of a debate is 0.15 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Probability>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// A probability for every outcome; the sum is 1. All engines have the same outcomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub probability_distribution: Option<Vec<OutcomeProbability>>,
    /// The id of a finished forecast, instead of a distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub debate_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ensemble {
    pub probability_distribution: Vec<OutcomeProbability>,
    pub engines: Vec<EngineShare>,
    /// `null` as long as fewer than `resolved_needed` forecasts have been resolved.
    pub calibrated: Option<Calibrated>,
    pub resolved: usize,
    pub resolved_needed: usize,
}

/// The part of one engine.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EngineShare {
    pub name: String,
    /// The final weight: weight × confidence, scaled to a sum of 1, at most 0.60.
    pub share: f64,
    pub weight: Probability,
    pub confidence: Confidence,
}

/// The distribution moved towards or away from even odds, as the resolved forecasts of the store should have been.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Calibrated {
    pub probability_distribution: Vec<OutcomeProbability>,
    /// The log-odds are multiplied by it: above 1 the forecasts were too cautious.
    pub factor: f64,
}

impl Engine {
    /// Fills in missing values from the result of a debate. Values of the caller are kept.
    pub fn take_from(&mut self, result: &DebateResult) {
        let outcomes = result.probability_distribution.iter();
        let outcomes = outcomes.filter_map(|outcome| {
            Some(OutcomeProbability {
                outcome_id: outcome.outcome_id.clone(),
                probability: Probability::new(outcome.probability.min(1.0)).ok()?,
            })
        });
        self.probability_distribution = Some(outcomes.collect());
        self.weight = self.weight.or(Probability::new(DEBATE_WEIGHT).ok());
        self.confidence = self.confidence.or(result.roundtable.extras.confidence);
    }
}

/// The combined distribution; `resolved` calibrates it. Reports all faults at once.
///
/// # Errors
/// [`Fault`]s that point into the request.
pub fn ensemble(request: &EnsembleRequest, resolved: &[Scored]) -> Result<Ensemble, Vec<Fault>> {
    let mut faults = Vec::new();
    let outcomes = outcomes_of(request);
    let engines: Vec<_> = request
        .engines
        .iter()
        .enumerate()
        .filter_map(|(index, engine)| checked(engine, index, &outcomes, &mut faults))
        .collect();
    let mut names = request.engines.iter().map(|engine| engine.name.trim());
    if distinct(names.clone()).len() < names.clone().count() {
        let twice = names.find(|name| names_equal(request, name) > 1);
        let twice = twice.unwrap_or_default();
        faults.push(fault("/engines", format!("'{twice}' is given twice")));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let opinions: Vec<Opinion<'_>> = engines
        .iter()
        .map(|(weight, confidence, distribution)| Opinion {
            weight: *weight,
            confidence: *confidence,
            distribution,
        })
        .collect();
    let combined =
        combine(&opinions).map_err(|error| vec![fault("/engines", error.to_string())])?;
    let calibrated = calibrated(&combined, &outcomes, resolved);
    let shares = request.engines.iter().zip(&engines).zip(&combined.weights);
    Ok(Ensemble {
        probability_distribution: listed(&outcomes, &combined.distribution),
        engines: shares
            .map(|((engine, (weight, confidence, _)), share)| EngineShare {
                name: engine.name.trim().to_owned(),
                share: *share,
                weight: *weight,
                confidence: *confidence,
            })
            .collect(),
        calibrated,
        resolved: resolved.len(),
        resolved_needed: MIN_RESOLVED,
    })
}

fn names_equal(request: &EnsembleRequest, name: &str) -> usize {
    let engines = request.engines.iter();
    engines.filter(|engine| engine.name.trim() == name).count()
}

/// The outcomes of the first engine that has some.
fn outcomes_of(request: &EnsembleRequest) -> Vec<String> {
    let mut given = request.engines.iter().filter_map(|engine| {
        let given = engine.probability_distribution.as_ref()?;
        let ids = given.iter().map(|outcome| outcome.outcome_id.clone());
        let ids: Vec<String> = ids.collect();
        (!ids.is_empty()).then_some(ids)
    });
    given.next().map(distinct).unwrap_or_default()
}

fn checked(
    engine: &Engine,
    index: usize,
    outcomes: &[String],
    faults: &mut Vec<Fault>,
) -> Option<(Probability, Confidence, Distribution)> {
    let before = faults.len();
    let at = |name: &str| format!("/engines/{index}/{name}");
    if engine.name.trim().is_empty() {
        faults.push(fault(&at("name"), "is empty"));
    }
    if engine.weight.is_none() {
        faults.push(fault(&at("weight"), "is missing"));
    }
    if engine.confidence.is_none() {
        faults.push(fault(&at("confidence"), "is missing"));
    }
    let values = match &engine.probability_distribution {
        None => {
            let problem = "is missing; give it, or the debate_id of a forecast";
            faults.push(fault(&at("probability_distribution"), problem));
            return None;
        }
        Some(given) => in_order(given, outcomes, &at("probability_distribution"), faults),
    };
    let distribution = Distribution::summing_to_one(&values, SUM_TOLERANCE);
    if faults.len() == before
        && let Err(improper) = &distribution
    {
        faults.push(fault(&at("probability_distribution"), improper.to_string()));
    }
    Some((engine.weight?, engine.confidence?, distribution.ok()?))
}

/// The probabilities in the order of the outcomes.
fn in_order(
    given: &[OutcomeProbability],
    outcomes: &[String],
    at: &str,
    faults: &mut Vec<Fault>,
) -> Vec<f64> {
    let ids: Vec<&str> = given.iter().map(|one| one.outcome_id.as_str()).collect();
    for (index, id) in ids.iter().enumerate() {
        if ids[..index].contains(id) {
            faults.push(fault(at, format!("'{id}' is given twice")));
        } else if !outcomes.iter().any(|outcome| outcome == id) {
            let known = outcomes.join(", ");
            faults.push(fault(
                at,
                format!("unknown outcome '{id}'; the first engine has {known}"),
            ));
        }
    }
    let values = outcomes.iter().map(|outcome| {
        let found = given.iter().find(|one| one.outcome_id == *outcome);
        if found.is_none() {
            faults.push(fault(at, format!("the outcome '{outcome}' is missing")));
        }
        found.map_or(0.0, |one| one.probability.value())
    });
    values.collect()
}

fn calibrated(combined: &Combined, outcomes: &[String], resolved: &[Scored]) -> Option<Calibrated> {
    if resolved.len() < MIN_RESOLVED {
        return None;
    }
    let seat = Seat {
        agent: "debate".to_owned(),
        group: None,
    };
    let pool = factor_of(resolved, &seat)?;
    let calibrated = pool.pool(&[(&seat, &combined.distribution)], None).ok()?;
    Some(Calibrated {
        probability_distribution: listed(outcomes, &calibrated),
        factor: pool.factor(),
    })
}

/// A pool of one seat, which is every debate's result: it can only learn the factor.
fn factor_of(resolved: &[Scored], seat: &Seat) -> Option<LearnedPool> {
    let questions = resolved.iter().filter_map(|scored| {
        let values: Vec<f64> = scored.forecasts.iter().map(|(value, _)| *value).collect();
        let result = Distribution::normalised(&values).ok()?;
        Some(Question {
            forecasts: vec![(seat.clone(), result)],
            ..scored.question()?
        })
    });
    let questions: Vec<Question> = questions.collect();
    learned(&questions, i64::MAX).ok()
}

fn listed(outcomes: &[String], distribution: &Distribution) -> Vec<OutcomeProbability> {
    let listed = outcomes.iter().zip(distribution.values());
    listed
        .filter_map(|(id, value)| {
            Some(OutcomeProbability {
                outcome_id: id.clone(),
                probability: Probability::new(value.min(1.0)).ok()?,
            })
        })
        .collect()
}

fn fault(at: &str, problem: impl Into<String>) -> Fault {
    Fault {
        at: at.to_owned(),
        problem: problem.into(),
    }
}

#[cfg(test)]
#[path = "ensemble_tests.rs"]
mod tests;
