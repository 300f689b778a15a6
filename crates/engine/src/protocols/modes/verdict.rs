//! The result of a debate: the answer, the exit criterion, the final state, and a comparison with the blind votes.

use std::collections::BTreeMap;

use roundtable_core::convergence::Status;
use roundtable_core::format::counted;
use roundtable_core::groupthink::{Diversity, Trigger};
use roundtable_core::spread::{Spread, mean};
use roundtable_core::state::DebateState;
use roundtable_core::usage::{Money, Usage};
use roundtable_core::votes::{Exit, Figures, Vote};
use roundtable_core::wording::{normal, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::count_by_rule;
use super::contradiction;
use super::debate::Debate;
use super::decision::PanelDecision;
use super::enhanced::EnhancedVerdict;
use super::replies::{Conclusion, RiskLevel};
use super::resolution::{Resolution, scrutiny};
use crate::event::{Spent, State};
use crate::protocols::outcome::Outcome;
use crate::protocols::scrutiny::Scrutiny;
use crate::report::Unit;
use crate::safety::{Alarm, Withheld};
use crate::table::{Missing, Table, Turn};

/// Why the rounds ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Exit(Exit),
    /// A person accepted the majority's answer.
    Accepted,
    /// A person accepted the answer although a BLOCKER is open.
    BlockerOverridden,
    /// A person chose an answer (E-09).
    Chosen(String),
    /// The measures show a consensus (E-08).
    Converged(Status),
    /// The same, and no seat cited any evidence.
    ConvergedWithoutEvidence(Status),
    /// With the limit that was reached.
    Budget(String),
    /// Another round is not worth its price (B-10); why, and what was saved.
    NotWorthIt(String),
    SeatsAbsent,
}

impl Ending {
    fn name(&self) -> &'static str {
        match self {
            Self::Exit(exit) => exit.name(),
            Self::Accepted | Self::BlockerOverridden | Self::Chosen(_) => "human_override",
            Self::Converged(status) | Self::ConvergedWithoutEvidence(status) => status.name(),
            Self::Budget(_) => "budget",
            Self::NotWorthIt(_) => "value",
            Self::SeatsAbsent => "seats_absent",
        }
    }

    /// Part of the prompt for the conclusion, and kept in the result.
    pub fn explanation(&self) -> String {
        match self {
            Self::Exit(exit) => exit.reason().to_owned(),
            Self::Accepted => "a person accepted the agreement".into(),
            Self::BlockerOverridden => {
                "a person accepted the answer despite an open BLOCKER".into()
            }
            Self::Chosen(answer) => format!("a person decided: {answer}"),
            Self::Converged(Status::ConsensusWithDiverseEvidence) => {
                "the positions are alike, by different evidence".into()
            }
            Self::Converged(_) => "the positions are alike and the answers agree".into(),
            Self::ConvergedWithoutEvidence(_) => {
                "the positions are alike; no evidence was cited".into()
            }
            Self::Budget(limit) => limit.clone(),
            Self::NotWorthIt(why) => why.clone(),
            Self::SeatsAbsent => "no seat spoke in two rounds in a row".into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub mode: String,
    /// The conclusion with dissent and open points; the majority's answer if there is no conclusion.
    pub final_answer: Option<String>,
    pub answer: Option<String>,
    pub dissent: Vec<String>,
    pub open_points: Vec<String>,
    /// The panel's mean confidence, scaled by the share of steps that succeeded.
    pub confidence: Option<f64>,
    pub confidence_stated: Option<f64>,
    pub agreement: Option<f64>,
    pub total_rounds: u32,
    /// An exit criterion (`consensus`, `majority`, `plateau`, `round_cap`), a convergence status, `human_override`, `budget`,
    /// `value` or `seats_absent`.
    pub stop_reason: String,
    pub stop_explanation: String,
    pub state: DebateState,
    /// Median and quartiles of the final confidences and estimates.
    pub confidences: Option<Spread>,
    pub estimates: Option<Spread>,
    pub groupthink: Vec<Groupthink>,
    pub safety: Safety,
    /// Violations that remained after a reply was sent back, by rule.
    pub violations: BTreeMap<String, usize>,
    pub sent_back: usize,
    pub worth: Worth,
    pub missing: Vec<Missing>,
    /// The decision; `None` in verdicts of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// Whether the answer was challenged; `None` in verdicts of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrutiny: Option<Scrutiny>,
    /// The majority, its level and the minority; `None` if the algorithm does not count answers (E-21).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel_decision: Option<PanelDecision>,
    /// Notes for the user about the debate as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// `None` in a plain debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enhanced: Option<EnhancedVerdict>,
}

/// A suspicion of groupthink, the objection round that followed, and a person's decision if one was needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Groupthink {
    pub round: u32,
    #[serde(flatten)]
    pub trigger: Trigger,
    pub diversity: Option<Diversity>,
    pub objection_round: u32,
    pub decision: Option<String>,
}

impl Groupthink {
    pub(super) fn suspected(round: u32, trigger: Trigger, diversity: Option<Diversity>) -> Self {
        Self {
            round,
            trigger,
            diversity,
            objection_round: round + 1,
            decision: None,
        }
    }

    pub(super) fn decided(alarms: &mut [Self], choice: &str) {
        if let Some(last) = alarms.last_mut() {
            last.decision = Some(choice.to_owned());
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Safety {
    pub alarms: Vec<Alarm>,
    /// The evaluator's finding, by round.
    pub evaluated: BTreeMap<u32, RiskLevel>,
    pub withheld: Vec<WithheldTurn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WithheldTurn {
    pub round: u32,
    pub seat: String,
    #[serde(flatten)]
    pub what: Withheld,
}

/// The blind votes compared with the votes after the debate (C-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worth {
    /// Before any seat had heard another.
    pub blind: Poll,
    pub debated: Poll,
    /// Whether the leading answer or the majority changed; `None` if there is nothing to compare.
    pub changed: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Poll {
    pub votes: BTreeMap<String, usize>,
    pub agreement: Option<f64>,
    pub confidence: Option<f64>,
    /// The answer that more seats gave than any other; `None` in a tie.
    pub answer: Option<String>,
    pub answers: Vec<AnswerShare>,
    pub tokens: u64,
    pub cost: Option<Money>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerShare {
    pub answer: String,
    pub seats: usize,
}

impl Verdict {
    pub(super) fn of(
        table: &Table,
        debate: &Debate,
        ending: &Ending,
        groupthink: Vec<Groupthink>,
        conclusion: Option<&Turn<Conclusion>>,
    ) -> Self {
        let missing = table.missing();
        let last: Option<Figures> = debate.history().pop();
        let stated = last.as_ref().and_then(Figures::mean_confidence);
        let sum = table.spent();
        let worth = Worth::of(debate, sum.usage, sum.cost);
        let resolution = Resolution::of(debate, ending);
        // Without a conclusion, and without an answer that leads, the answers are listed.
        let leading = resolution
            .decision
            .clone()
            .or_else(|| worth.debated.summary());
        let remarks = debate
            .rounds
            .iter()
            .flat_map(|round| &round.turns)
            .flat_map(|turn| &turn.remarks);
        let statuses = &debate.state.agent_status;
        let contradiction =
            conclusion.and_then(|turn| contradiction::fault(&debate.state, &turn.reply.answer));
        let mut verdict = Self {
            mode: debate.rules.mode.name.clone(),
            final_answer: conclusion
                .map(|turn| turn.text.clone())
                .or_else(|| leading.clone()),
            answer: conclusion.map(|turn| turn.reply.answer.clone()).or(leading),
            dissent: conclusion.map_or_else(Vec::new, |turn| turn.reply.dissent.clone()),
            open_points: conclusion.map_or_else(Vec::new, |turn| turn.reply.open_points.clone()),
            confidence: stated.map(|stated| scaled(stated, table.asked(), missing.len())),
            confidence_stated: stated,
            agreement: last.as_ref().and_then(Figures::agreement),
            total_rounds: debate.rounds.last().map_or(0, |round| round.number),
            stop_reason: ending.name().to_owned(),
            stop_explanation: debate.explained(ending),
            confidences: Spread::of(statuses.iter().map(|status| status.confidence.value())),
            estimates: Spread::of(statuses.iter().filter_map(|status| status.estimate)),
            state: debate.state.clone(),
            groupthink,
            safety: Safety::of(debate),
            violations: count_by_rule(remarks),
            sent_back: sent_back(debate),
            scrutiny: Some(scrutiny(debate, &worth.blind)),
            worth,
            missing,
            panel_decision: debate.panel_decision(),
            remarks: debate
                .remarks()
                .into_iter()
                .chain(contradiction.filter(|_| !resolution.by_person))
                .collect(),
            enhanced: EnhancedVerdict::of(debate, &resolution, sum.usage.total()),
            resolution: Some(resolution),
        };
        verdict.final_answer = verdict
            .final_answer
            .as_deref()
            .map(|text| verdict.headed(text));
        verdict
    }

    /// The answer as people read it: first that it is partial, then that a person decided (C-21, E-22).
    fn headed(&self, answer: &str) -> String {
        let resolution = self.resolution.as_ref();
        let chosen = resolution.filter(|resolution| resolution.by_person);
        let answer = match chosen.and_then(|resolution| resolution.decision.as_deref()) {
            Some(decision) => format!("**Decided by a person: {decision}**\n\n{answer}"),
            None => answer.to_owned(),
        };
        let percent = |value: f64| Unit::Percent.write(value);
        let lowered = self.confidence_stated.zip(self.confidence);
        let lowered = lowered.filter(|(stated, lowered)| lowered < stated);
        let shown = lowered.map(|(stated, lowered)| (percent(stated), percent(lowered)));
        self.completeness().marked(&answer, shown)
    }

    fn completeness(&self) -> Outcome<'_> {
        Outcome {
            is_there: !self.state.agent_status.is_empty(),
            ran_out: (self.stop_reason == "budget").then_some(self.stop_explanation.as_str()),
            missing: &self.missing,
        }
    }

    pub fn outcome(&self) -> State {
        self.completeness().state()
    }

    /// Why the debate is not complete.
    pub fn reason(&self) -> Option<String> {
        self.completeness().reason()
    }
}

/// The stated confidence, scaled by the share of steps that succeeded.
#[expect(
    clippy::cast_precision_loss,
    reason = "steps of a debate are counted in hundreds"
)]
fn scaled(stated: f64, asked: usize, missing: usize) -> f64 {
    if asked == 0 {
        return stated;
    }
    stated * asked.saturating_sub(missing) as f64 / asked as f64
}

pub(super) fn sent_back(debate: &Debate) -> usize {
    let turns = debate.rounds.iter().flat_map(|round| &round.turns);
    turns.filter(|turn| turn.spent.was_sent_back()).count()
}

impl Safety {
    pub(super) fn of(debate: &Debate) -> Self {
        let evaluated = debate
            .rounds
            .iter()
            .filter_map(|round| Some((round.number, round.evaluation.as_ref()?.risk)));
        let turns = debate
            .rounds
            .iter()
            .flat_map(|round| round.turns.iter().map(move |turn| (round, turn)));
        let withheld = turns.flat_map(|(round, turn)| {
            let by_evaluator = turn.is_hidden.then(|| Withheld {
                rule: "safety-evaluator".into(),
                why: "the safety evaluator found it harmful".into(),
                at: String::new(),
            });
            let all = turn.withheld.iter().cloned().chain(by_evaluator);
            all.map(move |what| WithheldTurn {
                round: round.number,
                seat: turn.seat.clone(),
                what,
            })
        });
        Self {
            alarms: debate.alarms.clone(),
            evaluated: evaluated.collect(),
            withheld: withheld.collect(),
        }
    }
}

impl Worth {
    pub(super) fn of(debate: &Debate, usage: Usage, cost: Option<Money>) -> Self {
        let blind = blind_poll(debate);
        let votes = debate.state.agent_status.iter().map(|status| Opinion {
            vote: status.vote,
            confidence: status.confidence.value(),
            answer: status.debate_alignment.as_deref(),
        });
        let mut debated = Poll::of(votes);
        debated.tokens = usage.total();
        debated.cost = cost;
        Self {
            changed: changed(&blind, &debated),
            blind,
            debated,
        }
    }
}

/// The blind votes; without any, round 1, in which seats spoke in parallel.
fn blind_poll(debate: &Debate) -> Poll {
    let first = debate.rounds.first().filter(|_| debate.ballots.is_empty());
    let turns = first.map_or_else(Vec::new, |round| round.turns.iter().collect());
    let spoken = turns.iter().map(|turn| Opinion {
        vote: turn.reply.vote,
        confidence: turn.reply.confidence.value(),
        answer: turn
            .reply
            .debate_alignment
            .as_deref()
            .filter(|_| !turn.is_hidden),
    });
    let cast = debate.ballots.iter().map(|vote| Opinion {
        vote: vote.ballot.vote,
        confidence: vote.ballot.confidence.value(),
        answer: vote.ballot.debate_alignment.as_deref(),
    });
    let mut poll = Poll::of(cast.chain(spoken));
    let spents: Vec<&Spent> = debate
        .ballots
        .iter()
        .map(|vote| &vote.spent)
        .chain(turns.iter().map(|turn| &turn.spent))
        .collect();
    poll.tokens = spents.iter().map(|spent| spent.usage.total()).sum();
    poll.cost = spents
        .iter()
        .try_fold(Money::ZERO, |sum, spent| spent.cost.map(|cost| sum + cost));
    poll
}

struct Opinion<'a> {
    vote: Vote,
    confidence: f64,
    answer: Option<&'a str>,
}

impl Poll {
    #[expect(clippy::cast_precision_loss, reason = "a panel has few seats")]
    fn of<'a>(opinions: impl Iterator<Item = Opinion<'a>>) -> Self {
        let opinions: Vec<Opinion<'a>> = opinions.collect();
        let mut votes = BTreeMap::new();
        let mut shares: Vec<AnswerShare> = Vec::new();
        for opinion in &opinions {
            *votes.entry(opinion.vote.name().to_owned()).or_insert(0) += 1;
            let Some(text) = opinion.answer.filter(|text| !normal(text).is_empty()) else {
                continue;
            };
            match shares
                .iter_mut()
                .find(|share| normal(&share.answer) == normal(text))
            {
                Some(share) => share.seats += 1,
                None => shares.push(AnswerShare {
                    answer: one_line(text),
                    seats: 1,
                }),
            }
        }
        // The sort is stable: answers of as many seats stay in the order in which they were named.
        shares.sort_by_key(|share| std::cmp::Reverse(share.seats));
        let agreeing = opinions
            .iter()
            .filter(|opinion| opinion.vote.agrees())
            .count();
        let confidences: Vec<f64> = opinions.iter().map(|opinion| opinion.confidence).collect();
        Self {
            agreement: (!opinions.is_empty()).then(|| agreeing as f64 / opinions.len() as f64),
            confidence: mean(&confidences),
            answer: leader(&shares).map(|share| share.answer.clone()),
            answers: shares,
            votes,
            tokens: 0,
            cost: None,
        }
    }

    /// The leading answer, or all answers of a divided panel.
    pub(super) fn summary(&self) -> Option<String> {
        if self.answer.is_some() || self.answers.is_empty() {
            return self.answer.clone();
        }
        let answers: Vec<String> = self
            .answers
            .iter()
            .map(|share| format!("{} ({})", share.answer, counted(share.seats, "seat")))
            .collect();
        Some(format!("The panel is divided: {}.", answers.join("; ")))
    }
}

fn leader(shares: &[AnswerShare]) -> Option<&AnswerShare> {
    let (first, rest) = shares.split_first()?;
    let is_tied = rest.first().is_some_and(|next| next.seats == first.seats);
    (!is_tied).then_some(first)
}

fn changed(blind: &Poll, debated: &Poll) -> Option<bool> {
    let majority_changed = match (blind.agreement, debated.agreement) {
        (Some(before), Some(after)) => Some((before >= 0.5) != (after >= 0.5)),
        _ => None,
    };
    let answer_changed = match (&blind.answer, &debated.answer) {
        (Some(before), Some(after)) => Some(normal(before) != normal(after)),
        _ => None,
    };
    match (majority_changed, answer_changed) {
        (None, None) => None,
        (majority, answer) => Some(majority == Some(true) || answer == Some(true)),
    }
}
