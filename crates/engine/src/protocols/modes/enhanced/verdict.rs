//! What the result of an enhanced debate says beside the answer: by which algorithm and status it ended, what it rests on, who
//! decided, and what all of it cost over a plain debate.

use roundtable_core::convergence::{Decision, Status};
use roundtable_core::evidence::{EvidenceType, Level};
use serde::{Deserialize, Serialize};

use super::super::debate::Debate;
use super::overhead::Overhead;
use super::play::{PersonDecision, Play, SecurityObjection};
use super::source_checks::SourceCheck;
use crate::algorithm::Count;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Enhancement {
    pub algorithm: String,
    /// After the last round, where rounds are measured.
    pub decision: Option<Decision>,
    /// How much the outcome is worth by the algorithm; `None` where it says nothing.
    pub level: Option<Level>,
    pub similarity: Option<f64>,
    /// What most stand for, in the words of the seat that is surest of it.
    pub position: Option<String>,
    /// The answer that most stand for, or that a person chose.
    pub answer: Option<String>,
    pub minority: Vec<Apart>,
    /// Most cited first.
    pub evidence: Vec<CitedEvidence>,
    pub escalation: bool,
    pub human_override: bool,
    pub decisions: Vec<PersonDecision>,
    pub security_objections: Vec<SecurityObjection>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_checks: Vec<SourceCheck>,
    pub flags: usize,
    pub overhead: Overhead,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    pub agent: String,
    pub answer: Option<String>,
    pub position: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CitedEvidence {
    pub source: String,
    /// The strongest type under which it was brought.
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub weight: f64,
    pub cited_by: Vec<String>,
    pub agents: usize,
}

impl Enhancement {
    /// `None` in a plain debate.
    pub fn of(debate: &Debate, total_tokens: u64) -> Option<Self> {
        let play = debate.enhanced.as_ref()?;
        let decision = play
            .rounds
            .last()
            .filter(|_| play.rules.is_measured())
            .map(|it| it.decision.clone());
        let majority = roundtable_core::convergence::majority(&play.answers());
        let chosen = play.decisions.iter().rev().find(|it| it.overrides());
        let chosen = chosen.and_then(|it| {
            let groups = roundtable_core::convergence::groups(&play.answers());
            let found = groups.into_iter().find(|group| group.option == it.choice);
            found.map(|group| group.option)
        });
        let status = decision.as_ref().map(|it| it.status);
        let level = match play.count() {
            Some((_, Count::Carried(level) | Count::Open(level))) => Some(level),
            None => status.and_then(Status::level),
        };
        let apart = majority.minority.iter().map(|(agent, answer)| Apart {
            agent: agent.clone(),
            answer: answer.clone(),
            position: position_of(debate, agent).unwrap_or_default(),
        });
        Some(Self {
            algorithm: play.rules.algorithm.name.clone(),
            level,
            similarity: play.last_similarity().map(|it| it.scaled),
            position: surest(debate, &majority.seats),
            answer: chosen.or_else(|| majority.option.clone()),
            minority: apart.collect(),
            evidence: evidence(play, debate.panel.seats.len()),
            escalation: !play.decisions.is_empty(),
            human_override: play.decisions.iter().any(PersonDecision::overrides),
            decisions: play.decisions.clone(),
            security_objections: play.objections.clone(),
            source_checks: play.checks.clone(),
            flags: play.ledger.flags.len(),
            overhead: Overhead::of(debate, total_tokens),
            decision,
        })
    }

    pub fn is_consensus(&self) -> bool {
        let status = self.decision.as_ref().map(|it| it.status);
        status.is_some_and(Status::is_consensus)
    }
}

fn position_of(debate: &Debate, seat: &str) -> Option<String> {
    let status = debate.state.agent_status.iter().find(|it| it.agent == seat);
    status.map(|it| it.position.clone())
}

fn surest(debate: &Debate, seats: &[String]) -> Option<String> {
    let among = debate
        .state
        .agent_status
        .iter()
        .filter(|it| seats.contains(&it.agent));
    // Of equals the first: `max_by` would take the last.
    let surest = among.rev().max_by(|a, b| {
        let (a, b) = (a.confidence.value(), b.confidence.value());
        a.total_cmp(&b)
    });
    surest.map(|it| it.position.clone())
}

/// Sources by how many cite them, then by weight; what never counted as evidence is left out.
pub(super) fn evidence(play: &Play, agents: usize) -> Vec<CitedEvidence> {
    let weights = &play.ledger.weights;
    let mut all: Vec<CitedEvidence> = play
        .ledger
        .sources
        .all()
        .iter()
        .filter_map(|source| {
            let kind = weights.strongest(source.kinds.keys().copied())?;
            Some(CitedEvidence {
                source: source.cited.shown(),
                kind,
                weight: weights.of(kind).value(),
                cited_by: source.cited_by.iter().cloned().collect(),
                agents,
            })
        })
        .collect();
    all.sort_by(|a, b| {
        let by_count = b.cited_by.len().cmp(&a.cited_by.len());
        by_count.then(b.weight.total_cmp(&a.weight))
    });
    all
}
