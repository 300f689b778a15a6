//! The debate record (E-12), in the design's format. Fields added by the program are optional and omitted if empty, so a record
//! written by hand in the design's format is valid.

use jiff::Timestamp;
use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::distinct::distinct;
use roundtable_core::evidence::{Calibration, EvidenceType, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A record as a document, under the key `debate_record`.
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
    /// `None` while the debate runs.
    #[schemars(with = "Option<String>")]
    pub timestamp_end: Option<Timestamp>,
    /// Subject area. Lessons apply to later debates in the same domain (E-15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Questions put to all seats before round 1 (E-15).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_questions: Vec<String>,
    pub rounds: Vec<RoundRecord>,
    /// Claims with ids, so that an assessment can refer to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimRecord>,
    /// `None` while the debate runs, and if it ended without a decision.
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
    /// A person's message in this round.
    #[serde(default)]
    pub user_input: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentPosition {
    pub agent: String,
    pub panel: String,
    pub position: String,
    /// One per citation, in the same order; then SPECULATIVE if a claim has no evidence.
    pub evidence_types: Vec<EvidenceType>,
    pub evidence_citations: Vec<String>,
    /// `None` if the agent gave no valid confidence; there is no default.
    pub confidence: Option<Confidence>,
    pub tokens_used: u64,
    /// The confidence band that its evidence allows, such as `MEDIUM-HIGH` (E-04).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub evidence_allows: Option<Level>,
    /// The stated confidence compared with that band: `within`, `overconfident` or `underconfident`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub calibration: Option<Calibration>,
    /// The claims and evidence that changed its position (E-20).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved_by: Vec<String>,
    /// Whether it changed its position without naming new claims or evidence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved_unexplained: bool,
}

/// A claim and its evidence, from the last statement of each agent about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRecord {
    pub id: String,
    pub claim: String,
    /// The agent who made it.
    pub agent: String,
    pub round: u32,
    /// Empty for a guess (E-02).
    #[serde(default)]
    pub evidence: Vec<ClaimEvidence>,
    /// The confidence band that its evidence allows (E-04).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub allows: Option<Level>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimEvidence {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub citation: String,
}

/// The three measures of convergence; `None` if one could not be taken (the first round has no shift).
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
    /// `None` if the panel is divided and no person decided.
    pub decision: Option<String>,
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
    /// The weight of its type in this debate.
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
    /// Every citation with its type. A citation without a type is speculative (E-02).
    pub fn evidence(&self) -> impl Iterator<Item = (EvidenceType, &str)> {
        let types = self.evidence_types.iter().copied();
        let typed = types.chain(std::iter::repeat(EvidenceType::Speculative));
        typed.zip(self.evidence_citations.iter().map(String::as_str))
    }
}

impl DebateRecord {
    pub fn last_position(&self, agent: &str) -> Option<&AgentPosition> {
        let rounds = self.rounds.iter().rev();
        let mut positions = rounds.flat_map(|round| &round.agent_positions);
        positions.find(|position| position.agent == agent)
    }

    /// Every agent, in the order of their first position.
    pub fn agents(&self) -> Vec<&str> {
        let positions = self.rounds.iter().flat_map(|round| &round.agent_positions);
        distinct(positions.map(|position| position.agent.as_str()))
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
