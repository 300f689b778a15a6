//! The debate record (E-12), field by field as its design has it. Whatever the program adds is optional and left out
//! where it is empty, so that a record written by hand in the design's form is one too.

use jiff::Timestamp;
use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::evidence::EvidenceType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A record as a document: it stands under its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordFile {
    pub debate_record: DebateRecord,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebateRecord {
    pub session_id: String,
    pub project_name: String,
    pub topic: String,
    #[schemars(with = "String")]
    pub timestamp_start: Timestamp,
    /// `None` while it runs.
    #[schemars(with = "Option<String>")]
    pub timestamp_end: Option<Timestamp>,
    /// What sort of question it is: what is learned from it serves the next one of the same domain (E-15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The questions that were put to all seats before round 1 (E-15).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_questions: Vec<String>,
    pub rounds: Vec<RoundRecord>,
    /// What was claimed under which id, so that an assessment can say what became of a claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimRecord>,
    /// `None` while it runs, and where it ended without any.
    pub final_consensus: Option<FinalConsensus>,
    pub token_efficiency: TokenEfficiency,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundRecord {
    pub round_number: u32,
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    pub duration_seconds: u64,
    pub agent_positions: Vec<AgentPosition>,
    pub metrics: RoundMetrics,
    /// What a person said in it; `None` where nobody did.
    #[serde(default)]
    pub user_input: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentPosition {
    pub agent: String,
    pub panel: String,
    pub position: String,
    /// One for each citation, in their order.
    pub evidence_types: Vec<EvidenceType>,
    pub evidence_citations: Vec<String>,
    /// `None` where the agent gave none that could be read: it is never filled in.
    pub confidence: Option<Confidence>,
    pub tokens_used: u64,
}

/// A claim and what it rests on, by the last word of everybody who spoke of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRecord {
    pub id: String,
    pub claim: String,
    /// Who made it, and when.
    pub agent: String,
    pub round: u32,
    /// Empty for a mere guess (E-02).
    #[serde(default)]
    pub evidence: Vec<ClaimEvidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimEvidence {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub citation: String,
}

/// The three measures of convergence; `None` where one could not be taken (the first round has no shift).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundMetrics {
    pub semantic_similarity: Option<f64>,
    pub evidence_convergence: Option<f64>,
    pub position_shift: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinalConsensus {
    pub decision: String,
    pub rationale: String,
    pub confidence: Option<Confidence>,
    pub supporting_evidence: Vec<SupportingEvidence>,
    pub dissenting_opinions: Vec<DissentingOpinion>,
    /// Whether a person was asked.
    pub escalation: bool,
    /// Whether a person decided.
    pub human_override: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SupportingEvidence {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub citation: String,
    /// What a piece of its type counted in this debate.
    pub weight: Probability,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DissentingOpinion {
    pub agent: String,
    pub position: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenEfficiency {
    pub total_tokens: u64,
    pub rounds: u32,
    pub avg_tokens_per_round: u64,
    pub consensus_reached: bool,
}

impl AgentPosition {
    /// Its pieces of evidence: every citation with its type. A citation without a type is a guess (E-02).
    pub fn evidence(&self) -> impl Iterator<Item = (EvidenceType, &str)> {
        let types = self.evidence_types.iter().copied();
        let typed = types.chain(std::iter::repeat(EvidenceType::Speculative));
        typed.zip(self.evidence_citations.iter().map(String::as_str))
    }
}

impl DebateRecord {
    /// An agent's last words.
    pub fn last_position(&self, agent: &str) -> Option<&AgentPosition> {
        let mut positions = self.rounds.iter().rev().flat_map(|it| &it.agent_positions);
        positions.find(|it| it.agent == agent)
    }

    /// Whoever spoke, in the order in which they first did.
    pub fn agents(&self) -> Vec<&str> {
        let mut agents: Vec<&str> = Vec::new();
        for position in self.rounds.iter().flat_map(|it| &it.agent_positions) {
            if !agents.contains(&position.agent.as_str()) {
                agents.push(&position.agent);
            }
        }
        agents
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
