//! The enhanced part of a verdict: algorithm, convergence, majority, evidence, decisions of people, and the token overhead.

use roundtable_core::convergence::{Decision, Status};
use roundtable_core::evidence::{EvidenceType, Level};
use serde::{Deserialize, Serialize};

use super::overhead::Overhead;
use super::source_checks::SourceCheck;
use super::state::{EnhancedState, PersonDecision, SecurityObjection};
use crate::algorithm::Count;
use crate::protocols::modes::Debate;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnhancedVerdict {
    pub algorithm: String,
    /// After the last round; `None` if rounds are not measured.
    pub decision: Option<Decision>,
    /// The strength of the consensus; `None` if the algorithm gives none.
    pub level: Option<Level>,
    pub similarity: Option<f64>,
    /// The majority's position in the words of its most confident seat.
    pub position: Option<String>,
    /// The majority's answer, or the one that a person chose.
    pub answer: Option<String>,
    pub minority: Vec<MinorityPosition>,
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
pub struct MinorityPosition {
    pub agent: String,
    pub answer: Option<String>,
    pub position: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CitedEvidence {
    pub source: String,
    /// The strongest type under which it was cited.
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub weight: f64,
    pub cited_by: Vec<String>,
    pub agents: usize,
}

impl EnhancedVerdict {
    /// `None` in a plain debate.
    pub fn of(debate: &Debate, total_tokens: u64) -> Option<Self> {
        let enhanced = debate.enhanced.as_ref()?;
        let decision = enhanced
            .rounds
            .last()
            .filter(|_| enhanced.rules.is_measured())
            .map(|last| last.decision.clone());
        let majority = roundtable_core::convergence::majority(&enhanced.answers());
        let chosen = enhanced
            .decisions
            .iter()
            .rev()
            .find(|decision| decision.overrides());
        let chosen = chosen.and_then(|decision| {
            let groups = roundtable_core::convergence::groups(&enhanced.answers());
            let found = groups
                .into_iter()
                .find(|group| group.option == decision.choice);
            found.map(|group| group.option)
        });
        let status = decision.as_ref().map(|decision| decision.status);
        let level = match enhanced.count() {
            Some((_, Count::Carried(level) | Count::Open(level))) => Some(level),
            None => status.and_then(Status::level),
        };
        let minority = majority
            .minority
            .iter()
            .map(|(agent, answer)| MinorityPosition {
                agent: agent.clone(),
                answer: answer.clone(),
                position: position_of(debate, agent).unwrap_or_default(),
            });
        Some(Self {
            algorithm: enhanced.rules.algorithm.name.clone(),
            level,
            similarity: enhanced
                .last_similarity()
                .map(|similarity| similarity.scaled),
            position: most_confident(debate, &majority.seats),
            answer: chosen.or_else(|| majority.option.clone()),
            minority: minority.collect(),
            evidence: cited_evidence(enhanced, debate.panel.seats.len()),
            escalation: !enhanced.decisions.is_empty(),
            human_override: enhanced.decisions.iter().any(PersonDecision::overrides),
            decisions: enhanced.decisions.clone(),
            security_objections: enhanced.objections.clone(),
            source_checks: enhanced.checks.clone(),
            flags: enhanced.ledger.flags.len(),
            overhead: Overhead::of(debate, total_tokens),
            decision,
        })
    }

    pub fn is_consensus(&self) -> bool {
        let status = self.decision.as_ref().map(|decision| decision.status);
        status.is_some_and(Status::is_consensus)
    }
}

fn position_of(debate: &Debate, seat: &str) -> Option<String> {
    let mut statuses = debate.state.agent_status.iter();
    let status = statuses.find(|status| status.agent == seat);
    status.map(|status| status.position.clone())
}

/// The position of the most confident of these seats.
fn most_confident(debate: &Debate, seats: &[String]) -> Option<String> {
    let statuses = debate.state.agent_status.iter();
    let among = statuses.filter(|status| seats.contains(&status.agent));
    // On a tie the first; `max_by` takes the last.
    let most = among.rev().max_by(|a, b| {
        let (a, b) = (a.confidence.value(), b.confidence.value());
        a.total_cmp(&b)
    });
    most.map(|status| status.position.clone())
}

/// Sources by number of citing seats, then by weight. Sources that never counted as evidence are left out.
pub(super) fn cited_evidence(enhanced: &EnhancedState, agents: usize) -> Vec<CitedEvidence> {
    let weights = &enhanced.ledger.weights;
    let mut all: Vec<CitedEvidence> = enhanced
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
