//! What we add to the contract's result, all under one key: a second probability, baselines, what the debate was worth, how the
//! roles moved, what is missing (F-06, F-13, F-18, F-20, C-17).

use std::collections::BTreeMap;

use jiff::civil::Date;
use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::forecast::{
    DEBATE_WEIGHT, Distribution, GOOD, Standing, log_odds_pool, mean, outcome_agreement,
};
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::OutcomeProbability;
use super::debate::{Debate, Heard, PRECEDENTS, Version};
use super::verdict::{Circumstances, Ending, Numbers};
use crate::table::Missing;
use crate::totals::Sum;

/// The share of arguments above 0.4 that the contract wants.
const BAR: f64 = 0.8;
/// A role that moved further than this owes a reason.
const MOVED: f64 = 0.05;

/// Ours, apart from the contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extras {
    pub summary: Option<String>,
    /// The mean of the roles' confidences, lowered by the share of steps that are missing.
    pub confidence: Option<Confidence>,
    pub confidence_stated: Option<Confidence>,
    pub ensemble_weight: f64,
    pub judge: JudgePart,
    /// Roles that never spoke.
    pub absent_roles: Vec<String>,
    pub consensus_by_outcome: BTreeMap<String, f64>,
    /// A second forecast, never mixed with `probability_distribution`.
    pub accuracy_pool: Option<AccuracyPool>,
    pub baselines: Baselines,
    pub worth: Option<Worth>,
    pub quality: Quality,
    pub precedents_required: usize,
    pub precedents_dated: usize,
    pub movement: Vec<RoleMovement>,
    pub arguments: Vec<ArgumentNote>,
    pub domain: Option<String>,
    #[schemars(with = "Option<String>")]
    pub resolves_on: Option<Date>,
    pub ending: Ending,
    pub missing: Vec<Missing>,
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgePart {
    Spoke,
    /// Asked for, but silent: the probability is the consensus alone.
    Absent,
    /// The request has no judge: the probability is the consensus alone.
    NotAsked,
}

/// The roles' last forecasts pooled by log-odds, each by what it has earned (equal without history).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccuracyPool {
    pub probabilities: Vec<OutcomeProbability>,
    pub weights: Vec<Standing>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baselines {
    pub uniform: Vec<OutcomeProbability>,
    pub simulation: Option<Vec<OutcomeProbability>>,
}

/// What the debate was worth (C-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// The mean of the first round, in which nobody knew what the others would say.
    pub blind: Side,
    pub debated: Side,
    pub changed_the_likeliest: bool,
    /// How much probability the debate moved.
    pub moved: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    pub probabilities: Vec<OutcomeProbability>,
    pub likeliest: String,
    pub calls: u32,
    pub tokens: u64,
    pub cost: Option<Money>,
}

/// F-06: how many arguments are good enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quality {
    pub scored: usize,
    pub above: usize,
    pub share: Option<f64>,
    pub bar: f64,
    pub met: Option<bool>,
}

/// F-13: how far a role moved from round to round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleMovement {
    pub role: String,
    pub steps: Vec<Movement>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Movement {
    pub from_round: u32,
    pub to_round: u32,
    /// From 0 to 1: the probability that changed place.
    pub distance: f64,
    /// A move that refers to no point of another role is unexplained.
    pub explained: bool,
}

/// What the contract's log has no room for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArgumentNote {
    pub id: String,
    pub round: u32,
    pub role: String,
    pub gist: String,
    pub refers_to: Vec<String>,
    pub probabilities: Vec<OutcomeProbability>,
    pub confidence: Confidence,
    pub rewritten: bool,
    pub score_reason: Option<String>,
}

impl Extras {
    pub(super) fn of(
        debate: &Debate<'_>,
        numbers: Option<&Numbers<'_>>,
        circumstances: Circumstances,
    ) -> Self {
        let rules = debate.rules();
        let standing = debate.standing();
        let present: Vec<&str> = standing.iter().map(|it| it.role).collect();
        let judge = match debate.judge() {
            None => JudgePart::NotAsked,
            Some(judge) if present.contains(&judge.name.as_str()) => JudgePart::Spoke,
            Some(_) => JudgePart::Absent,
        };
        let stated = mean_confidence(&standing);
        let distributions: Vec<_> = standing.iter().map(|it| &it.spoken.distribution).collect();
        let agreement = outcome_agreement(&distributions);
        let precedents = debate.precedents();
        let roles = debate.role_names().into_iter();
        Self {
            summary: debate.synthesis().map(|it| it.summary.clone()),
            confidence: stated.and_then(|stated| lowered(stated, &circumstances)),
            confidence_stated: stated,
            ensemble_weight: DEBATE_WEIGHT,
            judge,
            absent_roles: roles.filter(|it| !present.contains(&it.as_str())).collect(),
            consensus_by_outcome: debate.outcomes().iter().cloned().zip(agreement).collect(),
            accuracy_pool: accuracy_pool(debate, &standing),
            baselines: baselines(debate),
            worth: numbers.and_then(|numbers| worth(debate, numbers, &circumstances.spent)),
            quality: quality(debate),
            precedents_required: PRECEDENTS,
            precedents_dated: precedents.iter().filter(|it| it.is_dated()).count(),
            movement: movement(debate),
            arguments: notes(debate),
            domain: rules.domain.clone(),
            resolves_on: rules.resolves_on,
            ending: circumstances.ending,
            missing: circumstances.missing,
            remarks: debate.remarks().to_vec(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "roles are counted in tens")]
fn mean_confidence(standing: &[Heard<'_>]) -> Option<Confidence> {
    let sum: f64 = standing
        .iter()
        .map(|it| it.spoken.reply.confidence.value())
        .sum();
    let count = standing.len();
    (count > 0)
        .then(|| Confidence::new(sum / count as f64).ok())
        .flatten()
}

#[expect(clippy::cast_precision_loss, reason = "steps are counted in tens")]
fn lowered(stated: Confidence, circumstances: &Circumstances) -> Option<Confidence> {
    let (asked, missing) = (circumstances.asked, circumstances.missing.len());
    if asked == 0 {
        return Some(stated);
    }
    let share = asked.saturating_sub(missing) as f64 / asked as f64;
    Confidence::new(stated.value() * share).ok()
}

fn listed(outcomes: &[String], distribution: &Distribution) -> Vec<OutcomeProbability> {
    let pairs = outcomes.iter().zip(distribution.values());
    pairs
        .filter_map(|(id, value)| {
            Some(OutcomeProbability {
                outcome_id: id.clone(),
                probability: Probability::new(value.min(1.0)).ok()?,
            })
        })
        .collect()
}

fn accuracy_pool(debate: &Debate<'_>, standing: &[Heard<'_>]) -> Option<AccuracyPool> {
    let weights = &debate.rules().standings;
    let weighted: Vec<(&Distribution, f64)> = standing
        .iter()
        .filter_map(|it| {
            let earned = weights.iter().find(|weight| weight.role == it.role)?;
            Some((&it.spoken.distribution, earned.weight))
        })
        .collect();
    Some(AccuracyPool {
        probabilities: listed(debate.outcomes(), &log_odds_pool(&weighted).ok()?),
        weights: weights.clone(),
    })
}

fn baselines(debate: &Debate<'_>) -> Baselines {
    let outcomes = debate.outcomes();
    let uniform = Distribution::uniform(outcomes.len());
    Baselines {
        uniform: uniform.map_or_else(|_| Vec::new(), |it| listed(outcomes, &it)),
        simulation: debate.rules().simulation().map(|it| listed(outcomes, &it)),
    }
}

fn worth(debate: &Debate<'_>, numbers: &Numbers<'_>, spent: &Sum) -> Option<Worth> {
    let first = debate.heard_in(1);
    let distributions: Vec<_> = first.iter().map(|it| &it.spoken.distribution).collect();
    let blind = mean(&distributions).ok()?;
    let name = |it: &Distribution| debate.outcomes().get(it.likeliest()).cloned();
    let costs = first.iter().map(|it| it.spoken.spent.cost);
    Some(Worth {
        blind: Side {
            probabilities: listed(debate.outcomes(), &blind),
            likeliest: name(&blind)?,
            calls: first.iter().map(|it| it.spoken.spent.calls).sum(),
            tokens: first.iter().map(|it| it.spoken.spent.usage.total()).sum(),
            cost: costs
                .collect::<Option<Vec<_>>>()
                .map(|it| it.into_iter().sum()),
        },
        debated: Side {
            probabilities: listed(debate.outcomes(), &numbers.result),
            likeliest: name(&numbers.result)?,
            calls: spent.calls,
            tokens: spent.usage.total(),
            cost: spent.cost,
        },
        changed_the_likeliest: blind.likeliest() != numbers.result.likeliest(),
        moved: blind.movement(&numbers.result)?,
    })
}

#[expect(clippy::cast_precision_loss, reason = "arguments are counted in tens")]
fn quality(debate: &Debate<'_>) -> Quality {
    let heard = debate.heard();
    let marks = heard.iter().filter_map(|it| it.spoken.marks.as_ref());
    let composites: Vec<f64> = marks.map(|it| it.composite).collect();
    let scored = composites.len();
    let above = composites.iter().filter(|it| **it > GOOD).count();
    let share = (scored > 0).then(|| above as f64 / scored as f64);
    Quality {
        scored,
        above,
        share,
        bar: BAR,
        met: share.map(|share| share >= BAR),
    }
}

fn movement(debate: &Debate<'_>) -> Vec<RoleMovement> {
    let heard = debate.heard();
    let roles = debate.role_names().into_iter();
    roles
        .map(|role| {
            let own: Vec<_> = heard.iter().filter(|it| it.role == role).collect();
            let steps = own.iter().zip(own.iter().skip(1)).filter_map(|(from, to)| {
                let distance = from.spoken.distribution.movement(&to.spoken.distribution)?;
                let others = to.spoken.reply.refers_to.iter();
                let refers = others.clone().any(|id| {
                    heard
                        .iter()
                        .any(|it| it.role != role && it.round < to.round && it.id() == *id)
                });
                Some(Movement {
                    from_round: from.round,
                    to_round: to.round,
                    distance,
                    explained: distance < MOVED || refers,
                })
            });
            RoleMovement {
                steps: steps.collect(),
                role,
            }
        })
        .collect()
}

fn notes(debate: &Debate<'_>) -> Vec<ArgumentNote> {
    let heard = debate.heard();
    heard
        .iter()
        .map(|it| ArgumentNote {
            id: it.id(),
            round: it.round,
            role: it.role.to_owned(),
            gist: it.spoken.reply.gist.clone(),
            refers_to: it.spoken.reply.refers_to.clone(),
            probabilities: listed(debate.outcomes(), &it.spoken.distribution),
            confidence: it.spoken.reply.confidence,
            rewritten: it.version == Version::Again,
            score_reason: it.spoken.marks.as_ref().map(|it| it.reason.clone()),
        })
        .collect()
}
