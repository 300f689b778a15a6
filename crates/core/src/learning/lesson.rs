//! The numbers learned from one post-mortem.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Domain, Millis};
use crate::bounded::Probability;
use crate::evidence::EvidenceType;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The id of the debate, or of the session in an imported record; unique among lessons.
    pub project: String,
    /// For people.
    pub title: String,
    pub domain: Domain,
    pub at: Millis,
    pub decision_accuracy: Option<Probability>,
    /// Whether the debate used earlier lessons.
    #[serde(default)]
    pub with_learning: bool,
    /// At most one for each type.
    #[serde(default)]
    pub evidence: Vec<TypeObservation>,
    #[serde(default)]
    pub agents: Vec<AgentObservation>,
    /// Questions to ask before such a debate.
    #[serde(default)]
    pub questions: Vec<Proposal>,
    /// Questions that were asked before this debate.
    #[serde(default)]
    pub asked: Vec<AskedObservation>,
    #[serde(default)]
    pub skills: Vec<SkillNeed>,
    #[serde(default)]
    pub rounds: Vec<RoundObservation>,
    #[serde(default)]
    pub consensus_reached: bool,
}

/// How reliable evidence of a type was in this project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypeObservation {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    /// Share of the evidence that was right, whether the debate used it or dismissed it.
    pub held: Probability,
    pub pieces: usize,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentObservation {
    pub agent: String,
    pub score: AgentScore,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentScore {
    /// The agent stated a confidence, and the post-mortem judges its position.
    Probability {
        confidence: Probability,
        right: Probability,
    },
    /// The post-mortem judges its position; it stated no confidence.
    Verdict { right: Probability },
    /// The position is not judged: the share of its evidence that held.
    Evidence { held: Probability, pieces: usize },
}

impl AgentScore {
    /// How accurate the position was, as far as it can be judged.
    pub fn right(self) -> f64 {
        match self {
            Self::Probability { right, .. } | Self::Verdict { right } => right.value(),
            Self::Evidence { held, .. } => held.value(),
        }
    }

    /// The Brier score. It is proper for partial success too: stating the actual confidence has the best expected score.
    pub fn brier(self) -> Option<f64> {
        match self {
            Self::Probability { confidence, right } => {
                Some((confidence.value() - right.value()).powi(2))
            }
            Self::Verdict { .. } | Self::Evidence { .. } => None,
        }
    }
}

/// A question that would have helped, had it been asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    pub question: String,
    pub reason: String,
    /// The proposer's estimate of the share of debates it will help.
    pub estimate: Option<Probability>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedObservation {
    pub question: String,
    /// Whether its answer mattered for the outcome.
    pub helped: bool,
}

/// A skill that the panel lacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillNeed {
    pub skill: String,
    pub reason: String,
    /// Events that show it.
    pub evidence: Vec<String>,
    /// The expected effect in the assessor's words; displayed only, never used in calculations.
    pub expected: Option<String>,
}

/// How many points first raised in a round turned out right or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundObservation {
    pub round: u32,
    pub right: usize,
    pub wrong: usize,
}
