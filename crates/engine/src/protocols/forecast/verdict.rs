//! What a forecasting debate returns: the contract's sections, and beside them what we add (F-07 … F-13, F-18, F-20, C-17).

use std::collections::BTreeMap;

use jiff::civil::Date;
use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::forecast::{
    DEBATE_WEIGHT, Distribution, GOOD, Standing, judged, log_odds_pool, mean, mean_agreement,
    outcome_agreement,
};
use roundtable_core::usage::Money;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::contract::{
    DebateLog, Direction, Disagreement, Emerging, KeyInsight, LoggedArgument, OutcomeForecast,
    OutcomeProbability, Precedent, RoleAssessment, RolePosition, Round, RoundSummary,
};
use super::debate::{Debate, Heard, Marks, PRECEDENTS, Version};
use super::words::share;
use crate::event::State;
use crate::table::{Missing, Table};
use crate::totals::Sum;

/// The share of arguments above 0.4 that the contract wants.
const BAR: f64 = 0.8;
/// Less than this is no movement.
const STILL: f64 = 0.005;
/// A role that moved further than this owes a reason.
const MOVED: f64 = 0.05;

/// How the rounds ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", content = "limit", rename_all = "snake_case")]
pub enum Ending {
    Running,
    Played,
    /// With the limit that was reached, for people.
    Budget(String),
}

impl Ending {
    const fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Played => "played",
            Self::Budget(_) => "budget",
        }
    }
}

/// What is known beside what was said.
#[derive(Debug, Clone)]
pub(super) struct Circumstances {
    pub(super) ending: Ending,
    pub(super) missing: Vec<Missing>,
    pub(super) asked: usize,
    pub(super) spent: Sum,
}

impl Circumstances {
    pub(super) fn at(table: &Table, ending: Ending) -> Self {
        Self {
            ending,
            missing: table.missing(),
            asked: table.asked(),
            spent: table.spent(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub final_answer: Option<String>,
    /// `played`, `budget` or `running`.
    pub stop_reason: String,
    pub debate_log: DebateLog,
    pub consensus_score: Option<f64>,
    pub disagreement_map: Vec<Disagreement>,
    pub probability_distribution: Vec<OutcomeForecast>,
    pub key_insights: Vec<KeyInsight>,
    pub historical_precedents: Vec<Precedent>,
    pub roundtable: Extras,
}

/// Ours, apart from the contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub resolves_on: Option<Date>,
    pub ending: Ending,
    pub missing: Vec<Missing>,
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgePart {
    Spoke,
    /// Asked for, but silent: the probability is the consensus alone.
    Absent,
    /// The request has no judge: the probability is the consensus alone.
    NotAsked,
}

/// The roles' last forecasts pooled by log-odds, each by what it has earned (equal without history).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccuracyPool {
    pub probabilities: Vec<OutcomeProbability>,
    pub weights: Vec<Standing>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baselines {
    pub uniform: Vec<OutcomeProbability>,
    pub simulation: Option<Vec<OutcomeProbability>>,
}

/// What the debate was worth (C-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// The mean of the first round, in which nobody knew what the others would say.
    pub blind: Side,
    pub debated: Side,
    pub changed_the_likeliest: bool,
    /// How much probability the debate moved.
    pub moved: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    pub probabilities: Vec<OutcomeProbability>,
    pub likeliest: String,
    pub calls: u32,
    pub tokens: u64,
    pub cost: Option<Money>,
}

/// F-06: how many arguments are good enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    pub scored: usize,
    pub above: usize,
    pub share: Option<f64>,
    pub bar: f64,
    pub met: Option<bool>,
}

/// F-13: how far a role moved from round to round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleMovement {
    pub role: String,
    pub steps: Vec<Movement>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Movement {
    pub from_round: u32,
    pub to_round: u32,
    /// From 0 to 1: the probability that changed place.
    pub distance: f64,
    /// A move that refers to no point of another role is unexplained.
    pub explained: bool,
}

/// What the contract's log has no room for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// The contract's probabilities: judge and consensus, or the consensus alone. `None` while nobody has spoken.
pub(super) fn combined(debate: &Debate<'_>) -> Option<Distribution> {
    Numbers::of(debate).map(|numbers| numbers.result)
}

struct Numbers<'d> {
    standing: Vec<Heard<'d>>,
    judge: Option<&'d Distribution>,
    consensus: Distribution,
    result: Distribution,
}

impl<'d> Numbers<'d> {
    fn of(debate: &'d Debate<'_>) -> Option<Self> {
        let standing = debate.standing();
        let distributions: Vec<_> = standing.iter().map(|it| &it.spoken.distribution).collect();
        let consensus = mean(&distributions).ok()?;
        let judge = debate.judge().and_then(|judge| {
            let heard = standing.iter().find(|it| it.role == judge.name)?;
            Some(&heard.spoken.distribution)
        });
        let weight = debate.rules().request.config.judge_weight;
        let result = match judge {
            Some(judge) => judged(judge, &consensus, weight).ok()?,
            None => consensus.clone(),
        };
        Some(Self {
            standing,
            judge,
            consensus,
            result,
        })
    }
}

impl Verdict {
    pub(super) fn of(debate: &Debate<'_>, circumstances: Circumstances) -> Self {
        let numbers = Numbers::of(debate);
        let standing: Vec<_> = debate.standing();
        let distributions: Vec<_> = standing.iter().map(|it| &it.spoken.distribution).collect();
        let summary = debate.synthesis().map(|it| it.summary.clone());
        Self {
            final_answer: summary,
            stop_reason: circumstances.ending.name().to_owned(),
            debate_log: DebateLog {
                rounds: (1..=debate.last_round())
                    .map(|it| round(debate, it))
                    .collect(),
            },
            consensus_score: mean_agreement(&distributions),
            disagreement_map: disagreements(debate),
            probability_distribution: numbers
                .as_ref()
                .map_or_else(Vec::new, |numbers| distribution(debate.outcomes(), numbers)),
            key_insights: insights(debate),
            historical_precedents: debate.precedents().into_iter().cloned().collect(),
            roundtable: Extras::of(debate, numbers.as_ref(), circumstances),
        }
    }

    pub fn state(&self) -> State {
        let ran_out = matches!(self.roundtable.ending, Ending::Budget(_));
        if self.probability_distribution.is_empty() && !ran_out {
            State::Failed
        } else if ran_out || !self.roundtable.missing.is_empty() {
            State::Partial
        } else {
            State::Complete
        }
    }

    /// Why it is not complete, for people.
    pub fn reason(&self) -> Option<String> {
        if let Ending::Budget(limit) = &self.roundtable.ending {
            return Some(limit.clone());
        }
        let missing = self.roundtable.missing.iter();
        let absent: Vec<_> = missing
            .map(|it| format!("{}: {}", it.step, it.reason))
            .collect();
        (!absent.is_empty()).then(|| absent.join("; "))
    }
}

fn distribution(outcomes: &[String], numbers: &Numbers<'_>) -> Vec<OutcomeForecast> {
    let at = |distribution: &Distribution, place| distribution.get(place).unwrap_or_default();
    let places = outcomes.iter().enumerate();
    places
        .map(|(place, outcome)| OutcomeForecast {
            outcome_id: outcome.clone(),
            probability: at(&numbers.result, place),
            role_assessments: numbers
                .standing
                .iter()
                .map(|it| RoleAssessment {
                    role: it.role.to_owned(),
                    probability: at(&it.spoken.distribution, place),
                    confidence: it.spoken.reply.confidence,
                })
                .collect(),
            judge_probability: numbers.judge.map(|judge| at(judge, place)),
            consensus_probability: at(&numbers.consensus, place),
        })
        .collect()
}

fn round(debate: &Debate<'_>, number: u32) -> Round {
    let heard = debate.heard_in(number);
    let roles = debate.role_names();
    let is_opening = number == 1;
    Round {
        round_number: number,
        phase: debate.phase(number),
        round_summary: RoundSummary {
            dominant_argument: dominant(&heard),
            key_disagreements: key_disagreements(debate, number, &heard),
            emerging_consensus: emerging(debate, number),
        },
        arguments: heard
            .iter()
            .map(|it| {
                let reply = &it.spoken.reply;
                LoggedArgument {
                    role: it.role.to_owned(),
                    argument: reply.argument.clone(),
                    outcome_supported: reply.supports.clone(),
                    evidence_cited: reply.evidence.clone(),
                    scores: it.spoken.marks.as_ref().map(|it| scores(debate, it)),
                    rebuts: if is_opening {
                        Vec::new()
                    } else {
                        reply.rebutted(it.role, &roles)
                    },
                }
            })
            .collect(),
    }
}

fn scores(debate: &Debate<'_>, marks: &Marks) -> Map<String, Value> {
    let criteria = debate.rules().criteria.names().into_iter();
    let mut scores: Map<String, Value> = criteria
        .filter_map(|name| {
            let score = marks.scores.get(&name)?;
            Some((name, json!(score)))
        })
        .collect();
    scores.insert("composite".into(), json!(marks.composite));
    scores
}

/// The first of those with the highest composite.
fn dominant(heard: &[Heard<'_>]) -> Option<String> {
    let mut best: Option<(&str, f64)> = None;
    for it in heard {
        let Some(marks) = &it.spoken.marks else {
            continue;
        };
        if best.is_none_or(|(_, composite)| marks.composite > composite) {
            best = Some((it.role, marks.composite));
        }
    }
    best.map(|(role, _)| role.to_owned())
}

/// In the synthesizer's words; without them, where the roles are furthest apart.
fn key_disagreements(debate: &Debate<'_>, number: u32, heard: &[Heard<'_>]) -> Vec<String> {
    let notes = debate.synthesis().into_iter().flat_map(|it| &it.rounds);
    let mut said = notes.filter(|it| it.round == number).peekable();
    if said.peek().is_some() {
        return said.flat_map(|it| it.key_disagreements.clone()).collect();
    }
    widest(debate, heard).into_iter().collect()
}

fn widest(debate: &Debate<'_>, heard: &[Heard<'_>]) -> Option<String> {
    let mut widest: Option<(f64, String)> = None;
    for (place, outcome) in debate.outcomes().iter().enumerate() {
        let value = |it: &&Heard<'_>| it.spoken.distribution.get(place).unwrap_or_default();
        let low = heard.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?;
        let high = heard.iter().max_by(|a, b| value(a).total_cmp(&value(b)))?;
        let apart = value(&high) - value(&low);
        if apart > STILL && widest.as_ref().is_none_or(|(most, _)| apart > *most) {
            let (from, to) = (share(value(&low)), share(value(&high)));
            let text = format!(
                "On '{outcome}' the {} says {from} and the {} {to}",
                low.role, high.role
            );
            widest = Some((apart, text));
        }
    }
    widest.map(|(_, text)| text)
}

/// Outcomes that the roles moved toward or away from, on average over those who spoke in both rounds (F-07).
fn emerging(debate: &Debate<'_>, number: u32) -> Vec<Emerging> {
    let before = debate.heard_in(number - 1);
    let now = debate.heard_in(number);
    let pairs: Vec<(&Distribution, &Distribution)> = now
        .iter()
        .filter_map(|now| {
            let before = before.iter().find(|before| before.role == now.role)?;
            Some((&before.spoken.distribution, &now.spoken.distribution))
        })
        .collect();
    let (Ok(was), Ok(is)) = (
        mean(&pairs.iter().map(|(was, _)| *was).collect::<Vec<_>>()),
        mean(&pairs.iter().map(|(_, is)| *is).collect::<Vec<_>>()),
    ) else {
        return Vec::new();
    };
    let changes = debate
        .outcomes()
        .iter()
        .zip(was.values().iter().zip(is.values()));
    changes
        .filter(|(_, (was, is))| (*is - *was).abs() >= STILL)
        .map(|(outcome, (was, is))| Emerging {
            outcome_id: outcome.clone(),
            direction: if is > was {
                Direction::Toward
            } else {
                Direction::Away
            },
        })
        .collect()
}

/// Only roles and outcomes that exist: a synthesizer's slip is left out.
fn disagreements(debate: &Debate<'_>) -> Vec<Disagreement> {
    let roles = debate.role_names();
    let disputes = debate
        .synthesis()
        .into_iter()
        .flat_map(|it| &it.disagreements);
    disputes
        .map(|dispute| Disagreement {
            topic: dispute.topic.clone(),
            positions: dispute
                .positions
                .iter()
                .filter(|it| roles.contains(&it.role))
                .map(|it| RolePosition {
                    role: it.role.clone(),
                    stance: it.stance.clone(),
                    strength: it.strength,
                })
                .collect(),
            resolved: dispute.resolved,
        })
        .collect()
}

fn insights(debate: &Debate<'_>) -> Vec<KeyInsight> {
    let roles = debate.role_names();
    let said = debate.synthesis().into_iter().flat_map(|it| &it.insights);
    let mut insights: Vec<KeyInsight> = said
        .filter(|it| {
            roles.contains(&it.source_role) && (1..=debate.last_round()).contains(&it.round)
        })
        .map(|it| KeyInsight {
            insight: it.insight.clone(),
            source_role: it.source_role.clone(),
            round: it.round,
            impact: it.impact,
            affected_outcomes: it
                .affected_outcomes
                .iter()
                .filter(|id| debate.outcomes().contains(id))
                .cloned()
                .collect(),
        })
        .collect();
    insights.sort_by_key(|it| it.impact);
    insights
}

impl Extras {
    fn of(
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
