//! The result of a forecast: the contract's sections and our additions (F-07 … F-13, F-18, F-20, C-17).

use std::collections::BTreeSet;

use roundtable_core::bounded::Confidence;
use roundtable_core::forecast::{Distribution, judged, mean, mean_agreement};
use roundtable_core::format::percent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::contract::{
    DebateLog, Direction, Disagreement, Emerging, KeyInsight, LoggedArgument, OutcomeForecast,
    Precedent, RoleAssessment, RolePosition, Round, RoundSummary,
};
use super::debate::{CountedArgument, Debate, RubricScores, distributions};
use super::extras::Extras;
use crate::protocols::outcome::Outcome;
use crate::table::{Missing, Table};
use crate::totals::Sum;

/// Smaller changes of a probability do not count as movement.
const MIN_MOVEMENT: f64 = 0.005;

/// How the rounds ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", content = "limit", rename_all = "snake_case")]
pub enum Ending {
    Running,
    Played,
    /// With the limit that was reached.
    Budget(String),
    /// Another round was not worth its price (B-10); why, and what was saved.
    Value(String),
    /// Cancelled or interrupted: the result is what there was until then.
    Cancelled,
    /// Stopped by an error, which is the reason of the debate's end.
    Failed,
}

impl Ending {
    const fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Played => "played",
            Self::Budget(_) => "budget",
            Self::Value(_) => "value",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// How the debate ran, apart from its arguments.
#[derive(Debug, Clone)]
pub(super) struct RunInfo {
    pub(super) ending: Ending,
    pub(super) missing: Vec<Missing>,
    pub(super) asked: usize,
    pub(super) spent: Sum,
}

impl RunInfo {
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
    /// `played`, `budget`, `value`, `cancelled`, `failed` or `running`.
    pub stop_reason: String,
    pub debate_log: DebateLog,
    pub consensus_score: Option<f64>,
    pub disagreement_map: Vec<Disagreement>,
    pub probability_distribution: Vec<OutcomeForecast>,
    pub key_insights: Vec<KeyInsight>,
    pub historical_precedents: Vec<Precedent>,
    pub roundtable: Extras,
}

/// The contract's probabilities: judge and consensus, or the consensus alone. `None` before the first argument.
pub(super) fn combined(debate: &Debate<'_>) -> Option<Distribution> {
    Numbers::of(debate).map(|numbers| numbers.result)
}

/// The distributions that follow from each role's last argument.
pub(super) struct Numbers<'d> {
    latest: Vec<CountedArgument<'d>>,
    judge: Option<&'d Distribution>,
    consensus: Distribution,
    pub(super) result: Distribution,
}

impl<'d> Numbers<'d> {
    fn of(debate: &'d Debate<'_>) -> Option<Self> {
        let latest = debate.latest_arguments();
        let consensus = mean(&distributions(&latest)).ok()?;
        let judge = debate.judge().and_then(|judge| {
            let argument = latest.iter().find(|argument| argument.role == judge.name)?;
            Some(&argument.turn.distribution)
        });
        let weight = debate.rules().request.config.judge_weight;
        let result = match judge {
            Some(judge) => judged(judge, &consensus, weight).ok()?,
            None => consensus.clone(),
        };
        Some(Self {
            latest,
            judge,
            consensus,
            result,
        })
    }
}

impl Verdict {
    pub(super) fn of(debate: &Debate<'_>, run: RunInfo) -> Self {
        let numbers = Numbers::of(debate);
        let latest = debate.latest_arguments();
        let mut verdict = Self {
            final_answer: answer(debate, numbers.as_ref(), &run.ending),
            stop_reason: run.ending.name().to_owned(),
            debate_log: DebateLog {
                rounds: (1..=debate.last_round())
                    .map(|number| round(debate, number))
                    .collect(),
            },
            consensus_score: mean_agreement(&distributions(&latest)),
            disagreement_map: disagreements(debate),
            probability_distribution: numbers
                .as_ref()
                .map_or_else(Vec::new, |numbers| distribution(debate.outcomes(), numbers)),
            key_insights: insights(debate),
            historical_precedents: debate.precedents().into_iter().cloned().collect(),
            roundtable: Extras::of(debate, numbers.as_ref(), run),
        };
        verdict.final_answer = verdict.marked_answer();
        verdict.roundtable.summary.clone_from(&verdict.final_answer);
        verdict
    }

    /// The answer; of a partial debate with what is missing and the lowered confidence (C-21).
    fn marked_answer(&self) -> Option<String> {
        let extras = &self.roundtable;
        let shown = |value: Confidence| format!("{:.2}", value.value());
        let lowered = extras.confidence_stated.zip(extras.confidence);
        let lowered = lowered.filter(|(stated, lowered)| lowered < stated);
        let lowered = lowered.map(|(stated, lowered)| (shown(stated), shown(lowered)));
        Some(
            self.outcome()
                .marked(self.final_answer.as_deref()?, lowered),
        )
    }

    pub(super) fn outcome(&self) -> Outcome<'_> {
        Outcome {
            is_there: !self.probability_distribution.is_empty(),
            ran_out: match &self.roundtable.ending {
                Ending::Budget(limit) => Some(limit),
                Ending::Played
                | Ending::Value(_)
                | Ending::Running
                | Ending::Cancelled
                | Ending::Failed => None,
            },
            missing: &self.roundtable.missing,
        }
    }
}

/// The synthesizer's summary; of a debate that ended without one, the likeliest outcome.
fn answer(debate: &Debate<'_>, numbers: Option<&Numbers<'_>>, ending: &Ending) -> Option<String> {
    if let Some(synthesis) = debate.synthesis() {
        return Some(synthesis.summary.clone());
    }
    match ending {
        Ending::Played | Ending::Budget(_) | Ending::Value(_) => {}
        Ending::Running | Ending::Cancelled | Ending::Failed => return None,
    }
    let result = &numbers?.result;
    let likeliest = result.likeliest();
    let outcome = debate
        .rules()
        .request
        .prediction_context
        .outcomes
        .get(likeliest)?;
    let probability = percent(result.get(likeliest)?);
    Some(format!(
        "The likeliest outcome is '{}' with {probability}.",
        outcome.label
    ))
}

fn distribution(outcomes: &[String], numbers: &Numbers<'_>) -> Vec<OutcomeForecast> {
    let at = |distribution: &Distribution, index| distribution.get(index).unwrap_or_default();
    let numbered = outcomes.iter().enumerate();
    numbered
        .map(|(index, outcome)| OutcomeForecast {
            outcome_id: outcome.clone(),
            probability: at(&numbers.result, index),
            role_assessments: numbers
                .latest
                .iter()
                .map(|argument| RoleAssessment {
                    role: argument.role.to_owned(),
                    probability: at(&argument.turn.distribution, index),
                    confidence: argument.turn.reply.confidence,
                })
                .collect(),
            judge_probability: numbers.judge.map(|judge| at(judge, index)),
            consensus_probability: at(&numbers.consensus, index),
        })
        .collect()
}

fn round(debate: &Debate<'_>, number: u32) -> Round {
    let arguments = debate.arguments_in(number);
    let roles = debate.role_names();
    let is_opening = number == 1;
    Round {
        round_number: number,
        phase: debate.phase(number),
        round_summary: RoundSummary {
            dominant_argument: dominant(&arguments),
            key_disagreements: key_disagreements(debate, number, &arguments),
            emerging_consensus: emerging(debate, number),
        },
        arguments: arguments
            .iter()
            .map(|argument| {
                let reply = &argument.turn.reply;
                LoggedArgument {
                    role: argument.role.to_owned(),
                    argument: reply.argument.clone(),
                    outcome_supported: reply.supports.clone(),
                    evidence_cited: reply.evidence.clone(),
                    scores: argument.scores().map(|given| scores(debate, given)),
                    rebuts: if is_opening {
                        Vec::new()
                    } else {
                        reply.rebutted(argument.role, &roles)
                    },
                }
            })
            .collect(),
    }
}

fn scores(debate: &Debate<'_>, given: &RubricScores) -> Map<String, Value> {
    let criteria = debate.rules().criteria.names().into_iter();
    let mut scores: Map<String, Value> = criteria
        .filter_map(|name| {
            let score = given.scores.get(&name)?;
            Some((name, json!(score)))
        })
        .collect();
    scores.insert("composite".into(), json!(given.composite));
    scores
}

/// The role with the highest composite; the first of them if several have it.
fn dominant(arguments: &[CountedArgument<'_>]) -> Option<String> {
    let arguments = arguments.iter();
    let composites = arguments.filter_map(|by| Some((by.role, by.scores()?.composite)));
    let best = composites.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(role, _)| role.to_owned())
}

/// The synthesizer's list; without one, the outcome on which the roles differ most.
fn key_disagreements(
    debate: &Debate<'_>,
    number: u32,
    arguments: &[CountedArgument<'_>],
) -> Vec<String> {
    let synthesis = debate.synthesis().into_iter();
    let notes = synthesis.flat_map(|synthesis| &synthesis.rounds);
    let mut notes = notes.filter(|note| note.round == number).peekable();
    if notes.peek().is_some() {
        return notes
            .flat_map(|note| note.key_disagreements.clone())
            .collect();
    }
    widest(debate, arguments).into_iter().collect()
}

fn widest(debate: &Debate<'_>, arguments: &[CountedArgument<'_>]) -> Option<String> {
    let mut widest: Option<(f64, String)> = None;
    for (index, outcome) in debate.outcomes().iter().enumerate() {
        let values = arguments.iter().map(|argument| {
            let value = argument.turn.distribution.get(index);
            (argument.role, value.unwrap_or_default())
        });
        let (low_role, low) = values.clone().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (high_role, high) = values.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let apart = high - low;
        if apart > MIN_MOVEMENT && widest.as_ref().is_none_or(|(max, _)| apart > *max) {
            let (from, to) = (percent(low), percent(high));
            let text =
                format!("On '{outcome}' the {low_role} says {from} and the {high_role} {to}");
            widest = Some((apart, text));
        }
    }
    widest.map(|(_, text)| text)
}

/// The outcomes that the roles moved toward or away from, on average over the roles that argued in both rounds (F-07).
fn emerging(debate: &Debate<'_>, number: u32) -> Vec<Emerging> {
    let before = debate.arguments_in(number - 1);
    let now = debate.arguments_in(number);
    let pairs = now.iter().filter_map(|now| {
        let before = before.iter().find(|before| before.role == now.role)?;
        Some((&before.turn.distribution, &now.turn.distribution))
    });
    let (was, is): (Vec<_>, Vec<_>) = pairs.unzip();
    let (Ok(was), Ok(is)) = (mean(&was), mean(&is)) else {
        return Vec::new();
    };
    let outcomes = debate.outcomes().iter();
    outcomes
        .zip(was.values().iter().zip(is.values()))
        .filter(|(_, (was, is))| (*is - *was).abs() >= MIN_MOVEMENT)
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

/// Of each role that exists the first position.
fn disagreements(debate: &Debate<'_>) -> Vec<Disagreement> {
    let roles = debate.role_names();
    let synthesis = debate.synthesis().into_iter();
    synthesis
        .flat_map(|synthesis| &synthesis.disagreements)
        .map(|dispute| Disagreement {
            topic: dispute.topic.clone(),
            positions: {
                let mut seen = BTreeSet::new();
                let first = dispute.positions.iter().filter(|position| {
                    roles.contains(&position.role) && seen.insert(&position.role)
                });
                first
                    .map(|position| RolePosition {
                        role: position.role.clone(),
                        stance: position.stance.clone(),
                        strength: position.strength,
                    })
                    .collect()
            },
            resolved: dispute.resolved,
        })
        .collect()
}

fn insights(debate: &Debate<'_>) -> Vec<KeyInsight> {
    let roles = debate.role_names();
    let synthesis = debate.synthesis().into_iter();
    let mut insights: Vec<KeyInsight> = synthesis
        .flat_map(|synthesis| &synthesis.insights)
        .filter(|noted| {
            roles.contains(&noted.source_role) && (1..=debate.last_round()).contains(&noted.round)
        })
        .map(|noted| KeyInsight {
            insight: noted.insight.clone(),
            source_role: noted.source_role.clone(),
            round: noted.round,
            impact: noted.impact,
            affected_outcomes: noted
                .affected_outcomes
                .iter()
                .filter(|id| debate.outcomes().contains(id))
                .cloned()
                .collect(),
        })
        .collect();
    insights.sort_by_key(|insight| insight.impact);
    insights
}
