//! The enhanced part of a verdict: algorithm, convergence, majority, evidence, decisions of people, and the token overhead.

use std::collections::{BTreeMap, BTreeSet};

use roundtable_core::convergence::{Decision, Status, same_option};
use roundtable_core::evidence::{EvidenceType, Level, SourceId};
use roundtable_core::state::ClaimStatus;
use roundtable_core::wording::normal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overhead::Overhead;
use super::source_checks::SourceCheck;
use super::state::{EnhancedState, PersonDecision, SecurityObjection};
use crate::algorithm::Count;
use crate::protocols::modes::{Debate, MinorityPosition, Resolution};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnhancedVerdict {
    pub algorithm: String,
    /// After the last round; `None` if rounds are not measured.
    pub decision: Option<Decision>,
    /// The strength of the consensus; `None` if the algorithm gives none.
    pub level: Option<Level>,
    pub similarity: Option<f64>,
    /// The decision in the words of its most confident holder.
    pub position: Option<String>,
    /// The decision; `None` without one.
    pub answer: Option<String>,
    /// Seats that hold another answer than the decision.
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub fn of(debate: &Debate, resolution: &Resolution, total_tokens: u64) -> Option<Self> {
        let enhanced = debate.enhanced.as_ref()?;
        let decision = enhanced
            .rounds
            .last()
            .filter(|_| enhanced.rules.is_measured())
            .map(|last| last.decision.clone());
        let status = decision.as_ref().map(|decision| decision.status);
        let level = match enhanced.count() {
            Some((_, Count::Carried(level) | Count::Open(level))) => Some(level),
            None => status.and_then(Status::level),
        };
        Some(Self {
            algorithm: enhanced.rules.algorithm.name.clone(),
            level,
            similarity: enhanced
                .last_similarity()
                .map(|similarity| similarity.scaled),
            position: resolution.position.clone(),
            answer: resolution.decision.clone(),
            minority: resolution.dissenters.clone(),
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

    /// The resolution in a verdict of an earlier version.
    pub(super) fn resolution(&self, debate: &Debate) -> Resolution {
        let is_apart = |seat: &str| self.minority.iter().any(|apart| apart.agent == seat);
        let seats = debate.panel.seats.iter().map(|seat| seat.name.clone());
        Resolution {
            decision: self.answer.clone(),
            position: self.position.clone(),
            by_person: self.human_override,
            holders: seats.filter(|seat| !is_apart(seat)).collect(),
            dissenters: self.minority.clone(),
        }
    }

    pub fn is_consensus(&self) -> bool {
        let status = self.decision.as_ref().map(|decision| decision.status);
        status.is_some_and(Status::is_consensus)
    }
}

/// Sources by number of citing seats, then by weight. Sources that never counted as evidence are left out.
pub(super) fn cited_evidence(enhanced: &EnhancedState, agents: usize) -> Vec<CitedEvidence> {
    let weights = &enhanced.ledger.weights;
    let all: Vec<CitedEvidence> = enhanced
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
    by_citations(all)
}

fn by_citations(mut all: Vec<CitedEvidence>) -> Vec<CitedEvidence> {
    all.sort_by(|a, b| {
        let by_count = b.cited_by.len().cmp(&a.cited_by.len());
        by_count.then(b.weight.total_cmp(&a.weight))
    });
    all
}

/// The sources of the decision (E-22): those that its holders give for claims they still support, since they took the answer.
pub(super) fn supporting_evidence(
    debate: &Debate,
    enhanced: &EnhancedState,
    resolution: &Resolution,
) -> Vec<CitedEvidence> {
    let Some(decision) = &resolution.decision else {
        return Vec::new();
    };
    let ledger = &enhanced.ledger;
    let mut used: BTreeMap<SourceId, (BTreeSet<EvidenceType>, BTreeSet<String>)> = BTreeMap::new();
    for seat in &resolution.holders {
        let since = held_since(debate, seat, decision);
        let held = debate.state.claims.iter().filter(|claim| {
            claim.status != ClaimStatus::Retracted && claim.supporters.contains(seat)
        });
        let groundings = held
            .filter_map(|claim| ledger.claims.get(&claim.id)?.get(seat))
            .filter(|grounding| grounding.round >= since);
        for ground in groundings.flat_map(|grounding| &grounding.evidence) {
            if let Some(source) = ground.source {
                let (kinds, seats) = used.entry(source).or_default();
                kinds.insert(ground.kind);
                seats.insert(seat.clone());
            }
        }
    }
    let agents = debate.panel.seats.len();
    let cited = used.into_iter().filter_map(|(id, (kinds, seats))| {
        let kind = ledger.weights.strongest(kinds)?;
        Some(CitedEvidence {
            source: ledger.sources.get(id)?.cited.shown(),
            kind,
            weight: ledger.weights.of(kind).value(),
            cited_by: seats.into_iter().collect(),
            agents,
        })
    });
    by_citations(cited.collect())
}

/// The round in which a seat took the answer that it still holds.
fn held_since(debate: &Debate, seat: &str, decision: &str) -> u32 {
    let mut since = u32::MAX;
    for round in debate.rounds.iter().rev() {
        let Some(turn) = round.turns.iter().find(|turn| turn.seat == seat) else {
            continue;
        };
        let other = turn.reply.debate_alignment.as_deref();
        let other = other.filter(|answer| !normal(answer).is_empty());
        if other.is_some_and(|answer| !same_option(answer, decision)) {
            break;
        }
        since = round.number;
    }
    since
}
