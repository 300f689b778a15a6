//! What a forecasting debate returns: the contract's sections, and beside them what we add (F-07 … F-13, F-18, F-20, C-17).

use roundtable_core::forecast::{Distribution, judged, mean, mean_agreement};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::contract::{
    DebateLog, Direction, Disagreement, Emerging, KeyInsight, LoggedArgument, OutcomeForecast,
    Precedent, RoleAssessment, RolePosition, Round, RoundSummary,
};
use super::debate::{Debate, Heard, Marks};
use super::extras::Extras;
use super::text_budget::share;
use crate::event::State;
use crate::protocols::outcome::Outcome;
use crate::table::{Missing, Table};
use crate::totals::Sum;

/// Less than this is no movement.
const STILL: f64 = 0.005;

/// How the rounds ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

/// The contract's probabilities: judge and consensus, or the consensus alone. `None` while nobody has spoken.
pub(super) fn combined(debate: &Debate<'_>) -> Option<Distribution> {
    Numbers::of(debate).map(|numbers| numbers.result)
}

/// What follows from the roles' last words.
pub(super) struct Numbers<'d> {
    standing: Vec<Heard<'d>>,
    judge: Option<&'d Distribution>,
    consensus: Distribution,
    pub(super) result: Distribution,
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

    fn played(&self) -> Outcome<'_> {
        Outcome {
            is_there: !self.probability_distribution.is_empty(),
            ran_out: match &self.roundtable.ending {
                Ending::Budget(limit) => Some(limit),
                Ending::Played | Ending::Running => None,
            },
            missing: &self.roundtable.missing,
        }
    }

    pub fn state(&self) -> State {
        self.played().state()
    }

    /// Why it is not complete, for people.
    pub fn reason(&self) -> Option<String> {
        self.played().reason()
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
