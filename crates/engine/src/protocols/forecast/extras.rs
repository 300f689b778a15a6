//! Our additions to the contract's result, under one key: accuracy pool, baselines, comparison with the first round, movement of
//! the roles, missing steps (F-06, F-13, F-18, F-20, C-17).

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::forecast::{
    DEBATE_WEIGHT, Distribution, GOOD, Weight, log_odds_pool, mean, outcome_agreement,
};
use roundtable_core::spread::{self, real};
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::OutcomeProbability;
use super::debate::{CountedArgument, Debate, REQUIRED_PRECEDENTS, Version, distributions};
use super::rules::{CROWD, Standing};
use super::scale::QuantileValue;
use super::verdict::{Ending, Numbers, RunInfo};
use crate::protocols::scrutiny::Scrutiny;
use crate::table::Missing;
use crate::totals::Sum;

/// The share of arguments above 0.4 that the contract asks for.
const QUALITY_TARGET: f64 = 0.8;
/// A role that moves further than this must refer to a point of another role.
const EXPLANATION_THRESHOLD: f64 = 0.05;

/// The fields that are not part of the contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extras {
    /// The answer: the synthesizer's summary, of a partial debate with what is missing.
    pub summary: Option<String>,
    /// The mean of the roles' confidences, lowered by the share of steps that are missing.
    pub confidence: Option<Confidence>,
    pub confidence_stated: Option<Confidence>,
    pub ensemble_weight: f64,
    pub judge: JudgePart,
    /// The round of the judge's last argument, whose probabilities count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_round: Option<u32>,
    /// Roles without an argument in any round. `missing` lists single arguments.
    pub absent_roles: Vec<String>,
    pub consensus_by_outcome: BTreeMap<String, f64>,
    /// A second forecast, independent of `probability_distribution`.
    pub accuracy_pool: Option<AccuracyPool>,
    pub baselines: Baselines,
    /// The forecast of a market or a crowd, which the roles did not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Vec<OutcomeProbability>>,
    /// The quantiles of a number or date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<QuantileValue>,
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
    /// Whether the answer was challenged; `None` before the end and in verdicts of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrutiny: Option<Scrutiny>,
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgePart {
    Spoke,
    /// The judge spoke until `judge_round`, but gave no closing argument.
    NoClosing,
    /// The judge never answered: the probability is the consensus alone.
    Absent,
    /// The request has no judge: the probability is the consensus alone.
    NotAsked,
}

/// The pool of the roles' last forecasts that learns from resolved forecasts whom to follow and how strongly; without history
/// the mean of their log-odds (B-09).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccuracyPool {
    pub probabilities: Vec<OutcomeProbability>,
    pub weights: Vec<RoleWeight>,
    /// How far the pool moves away from even odds: 1 is the mean of the log-odds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
}

/// A role's weight in the pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleWeight {
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// All weights together are 1.
    pub weight: f64,
    /// The expected difference of its Brier score to that of the panel; negative is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<f64>,
    /// The number of resolved forecasts of the role.
    pub questions: usize,
    /// Only in forecasts of earlier versions, whose weights were learned from Brier scores.
    #[serde(flatten)]
    pub earlier: Option<EarlierWeight>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierWeight {
    /// `None` without any history.
    pub shrunk_brier: Option<f64>,
    pub questions_in_domain: usize,
}

impl RoleWeight {
    pub(super) fn new(role: &str, model: &str, learned: Weight) -> Self {
        Self {
            role: role.to_owned(),
            model: Some(model.to_owned()),
            weight: learned.weight,
            skill: Some(learned.skill),
            questions: learned.questions,
            earlier: None,
        }
    }

    fn of_earlier(standing: &Standing) -> Self {
        Self {
            role: standing.role.clone(),
            model: None,
            weight: standing.weight,
            skill: None,
            questions: standing.questions,
            earlier: Some(EarlierWeight {
                shrunk_brier: standing.shrunk_brier,
                questions_in_domain: standing.questions_in_domain,
            }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baselines {
    pub uniform: Vec<OutcomeProbability>,
    pub simulation: Option<Vec<OutcomeProbability>>,
}

/// The forecast compared with that of the first round (C-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// The mean of the first round, in which the roles had not read each other.
    pub blind: Side,
    pub debated: Side,
    pub changed_the_likeliest: bool,
    /// The total probability that the debate moved.
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

/// F-06: the number of arguments above the quality threshold.
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
    /// The total probability that moved, from 0 to 1.
    pub distance: f64,
    /// A move that refers to no point of another role is unexplained.
    pub explained: bool,
}

/// Fields of an argument that the contract's log does not have.
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
    pub(super) fn of(debate: &Debate<'_>, numbers: Option<&Numbers<'_>>, run: RunInfo) -> Self {
        let rules = debate.rules();
        let latest = debate.latest_arguments();
        let present: Vec<&str> = latest.iter().map(|argument| argument.role).collect();
        let judge = debate.judge();
        let judge_round = judge.and_then(|judge| {
            let own = latest.iter().find(|argument| argument.role == judge.name);
            own.map(|argument| argument.round)
        });
        let judge = match (judge, judge_round) {
            (None, _) => JudgePart::NotAsked,
            (Some(_), None) => JudgePart::Absent,
            (Some(_), Some(round)) if round < rules.rounds => JudgePart::NoClosing,
            (Some(_), Some(_)) => JudgePart::Spoke,
        };
        let is_over = matches!(
            run.ending,
            Ending::Played | Ending::Budget(_) | Ending::Value(_)
        );
        let stated = mean_confidence(&latest);
        let agreement = outcome_agreement(&distributions(&latest));
        let roles = debate.role_names().into_iter();
        Self {
            summary: None,
            confidence: stated.and_then(|stated| lowered(stated, &run)),
            confidence_stated: stated,
            ensemble_weight: DEBATE_WEIGHT,
            judge,
            judge_round,
            absent_roles: roles
                .filter(|role| !present.contains(&role.as_str()))
                .collect(),
            consensus_by_outcome: debate.outcomes().iter().cloned().zip(agreement).collect(),
            accuracy_pool: accuracy_pool(debate, &latest),
            baselines: baselines(debate),
            crowd: rules
                .crowd
                .as_ref()
                .map(|crowd| listed(debate.outcomes(), crowd)),
            quantiles: match (&rules.scale, numbers) {
                (Some(scale), Some(numbers)) => scale.quantiles(&numbers.result),
                _ => Vec::new(),
            },
            worth: numbers.and_then(|numbers| worth(debate, numbers, &run.spent)),
            quality: quality(debate),
            precedents_required: REQUIRED_PRECEDENTS,
            precedents_dated: debate.dated_precedents(),
            movement: movement(debate),
            arguments: notes(debate),
            domain: rules.domain.clone(),
            resolves_on: rules.resolves_on,
            ending: run.ending,
            missing: run.missing,
            scrutiny: (is_over && !latest.is_empty()).then(|| scrutiny(debate)),
            remarks: debate.remarks(),
        }
    }
}

/// Whether the forecast was challenged (C-22): by rebuttals. One is open if the two roles still support different outcomes.
fn scrutiny(debate: &Debate<'_>) -> Scrutiny {
    let roles = debate.role_names();
    let latest = debate.latest_arguments();
    let supports = |role: &str| {
        let last = latest.iter().find(|argument| argument.role == role);
        last.map(|argument| argument.turn.reply.supports.as_str())
    };
    let later = debate
        .arguments()
        .into_iter()
        .filter(|argument| argument.round > 1);
    let rebuttals: BTreeSet<(&str, String)> = later
        .flat_map(|argument| {
            let rebutted = argument.turn.reply.rebutted(argument.role, &roles);
            rebutted
                .into_iter()
                .map(move |other| (argument.role, other))
        })
        .collect();
    if !rebuttals.is_empty() {
        let open = rebuttals
            .iter()
            .filter(|(role, other)| supports(role) != supports(other));
        return Scrutiny::challenged(rebuttals.len(), open.count());
    }
    let first = debate.arguments_in(1);
    let (one, rest) = match first.as_slice() {
        [one, rest @ ..] if !rest.is_empty() => (one, rest),
        _ => return Scrutiny::not_challenged("fewer than two roles argued in the first round"),
    };
    let same = |other: &CountedArgument<'_>| other.turn.reply.supports == one.turn.reply.supports;
    match debate.last_round() {
        _ if rest.iter().all(same) => Scrutiny::Unanimous,
        1 => Scrutiny::not_challenged("the roles argued once, before they read each other"),
        rounds => Scrutiny::not_challenged(format!("no role rebutted another in {rounds} rounds")),
    }
}

fn mean_confidence(latest: &[CountedArgument<'_>]) -> Option<Confidence> {
    let stated = latest.iter().map(|argument| argument.turn.reply.confidence);
    let stated: Vec<f64> = stated.map(Confidence::value).collect();
    Confidence::new(spread::mean(&stated)?).ok()
}

fn lowered(stated: Confidence, run: &RunInfo) -> Option<Confidence> {
    let (asked, missing) = (run.asked, run.missing.len());
    if asked == 0 {
        return Some(stated);
    }
    let share = real(asked.saturating_sub(missing)) / real(asked);
    Confidence::new(stated.value() * share).ok()
}

fn listed(outcomes: &[String], distribution: &Distribution) -> Vec<OutcomeProbability> {
    let listed = outcomes.iter().zip(distribution.values());
    let listed = listed.filter_map(|(id, value)| {
        Some(OutcomeProbability {
            outcome_id: id.clone(),
            probability: Probability::new(value.min(1.0)).ok()?,
        })
    });
    listed.collect()
}

fn accuracy_pool(debate: &Debate<'_>, latest: &[CountedArgument<'_>]) -> Option<AccuracyPool> {
    let Some(learned) = &debate.rules().learned else {
        return earlier_pool(debate, latest);
    };
    let roles = latest.iter().filter_map(|argument| {
        let role = debate
            .roles()
            .iter()
            .find(|role| role.name == argument.role)?;
        let (name, model) = (role.name.as_str(), role.model.as_str());
        Some(((name, model), role.seat(), &argument.turn.distribution))
    });
    let crowd = debate.rules().crowd_seat();
    let crowd = crowd.filter(|_| debate.rules().is_crowd_prior);
    let crowd = crowd.map(|(seat, own)| ((CROWD, CROWD), seat, own));
    let roles: Vec<_> = roles.chain(crowd).collect();
    let seats: Vec<_> = roles.iter().map(|(_, seat, own)| (seat, *own)).collect();
    let pool = learned.pool(&seats).ok()?;
    let weights = learned.weights(seats.iter().map(|(seat, _)| *seat));
    let weights = roles.iter().zip(weights);
    Some(AccuracyPool {
        probabilities: listed(debate.outcomes(), &pool),
        weights: weights
            .map(|(((role, model), _, _), weight)| RoleWeight::new(role, model, weight))
            .collect(),
        factor: Some(learned.factor),
    })
}

fn earlier_pool(debate: &Debate<'_>, latest: &[CountedArgument<'_>]) -> Option<AccuracyPool> {
    let weights = &debate.rules().standings;
    let weighted = latest.iter().filter_map(|argument| {
        let earned = weights.iter().find(|weight| weight.role == argument.role)?;
        Some((&argument.turn.distribution, earned.weight))
    });
    let pool = log_odds_pool(&weighted.collect::<Vec<_>>()).ok()?;
    Some(AccuracyPool {
        probabilities: listed(debate.outcomes(), &pool),
        weights: weights.iter().map(RoleWeight::of_earlier).collect(),
        factor: None,
    })
}

fn baselines(debate: &Debate<'_>) -> Baselines {
    let outcomes = debate.outcomes();
    let listed = |distribution| listed(outcomes, &distribution);
    let uniform = Distribution::uniform(outcomes.len());
    Baselines {
        uniform: uniform.map(listed).unwrap_or_default(),
        simulation: debate.rules().simulation().map(listed),
    }
}

fn worth(debate: &Debate<'_>, numbers: &Numbers<'_>, spent: &Sum) -> Option<Worth> {
    let first = debate.arguments_in(1);
    let blind = mean(&distributions(&first)).ok()?;
    let name =
        |distribution: &Distribution| debate.outcomes().get(distribution.likeliest()).cloned();
    let first = first.iter().map(|argument| argument.turn.spent);
    let costs: Option<Vec<Money>> = first.clone().map(|spent| spent.cost).collect();
    Some(Worth {
        blind: Side {
            probabilities: listed(debate.outcomes(), &blind),
            likeliest: name(&blind)?,
            calls: first.clone().map(|spent| spent.calls).sum(),
            tokens: first.map(|spent| spent.usage.total()).sum(),
            cost: costs.map(|costs| costs.into_iter().sum()),
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

fn quality(debate: &Debate<'_>) -> Quality {
    let arguments = debate.arguments();
    let scores: Vec<_> = arguments
        .iter()
        .filter_map(CountedArgument::scores)
        .collect();
    let scored = scores.len();
    let above = scores
        .iter()
        .filter(|scores| scores.composite > GOOD)
        .count();
    let share = (scored > 0).then(|| real(above) / real(scored));
    Quality {
        scored,
        above,
        share,
        bar: QUALITY_TARGET,
        met: share.map(|share| share >= QUALITY_TARGET),
    }
}

fn movement(debate: &Debate<'_>) -> Vec<RoleMovement> {
    let arguments = debate.arguments();
    let roles = debate.role_names().into_iter();
    roles
        .map(|role| {
            let own = arguments.iter().filter(|argument| argument.role == role);
            let steps = own.clone().zip(own.skip(1)).filter_map(|(from, to)| {
                let distance = from.turn.distribution.movement(&to.turn.distribution)?;
                let refers = arguments.iter().any(|other| {
                    let is_earlier = other.role != role && other.round < to.round;
                    is_earlier && to.turn.reply.refers_to.contains(&other.id())
                });
                Some(Movement {
                    from_round: from.round,
                    to_round: to.round,
                    distance,
                    explained: distance < EXPLANATION_THRESHOLD || refers,
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
    let arguments = debate.arguments();
    arguments
        .iter()
        .map(|argument| ArgumentNote {
            id: argument.id(),
            round: argument.round,
            role: argument.role.to_owned(),
            gist: argument.turn.reply.gist.clone(),
            refers_to: argument.turn.reply.refers_to.clone(),
            probabilities: listed(debate.outcomes(), &argument.turn.distribution),
            confidence: argument.turn.reply.confidence,
            rewritten: argument.version == Version::Rewrite,
            score_reason: argument.scores().map(|scores| scores.reason.clone()),
        })
        .collect()
}
