//! What one post-mortem teaches, in numbers.

use serde::{Deserialize, Serialize};

use super::{Domain, Millis};
use crate::bounded::Probability;
use crate::evidence::EvidenceType;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The debate, or the session of a record: it is learned from once.
    pub project: String,
    /// For people.
    pub title: String,
    pub domain: Domain,
    pub at: Millis,
    pub decision_accuracy: Option<Probability>,
    /// Whether the debate was played with what had been learned before.
    #[serde(default)]
    pub with_learning: bool,
    /// At most one for each type.
    #[serde(default)]
    pub evidence: Vec<TypeObservation>,
    #[serde(default)]
    pub agents: Vec<AgentObservation>,
    /// Questions that should be asked before such a debate.
    #[serde(default)]
    pub questions: Vec<Proposal>,
    /// Questions that were asked before this one.
    #[serde(default)]
    pub asked: Vec<AskedObservation>,
    #[serde(default)]
    pub skills: Vec<SkillNeed>,
    #[serde(default)]
    pub rounds: Vec<RoundObservation>,
    #[serde(default)]
    pub consensus_reached: bool,
}

/// How far evidence of a type could be relied on in this project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeObservation {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    /// Evidence that was right counts, whether the debate heeded it or not.
    pub held: Probability,
    pub pieces: usize,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentObservation {
    pub agent: String,
    pub score: AgentScore,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentScore {
    /// It said how sure it was of its position, and somebody says how right that was.
    Probability {
        confidence: Probability,
        right: Probability,
    },
    /// Somebody says how right it was; it had not said how sure it was.
    Verdict { right: Probability },
    /// Nobody says so: the share of its evidence that held.
    Evidence { held: Probability, pieces: usize },
}

impl AgentScore {
    pub(super) fn right(self) -> f64 {
        match self {
            Self::Probability { right, .. } | Self::Verdict { right } => right.value(),
            Self::Evidence { held, .. } => held.value(),
        }
    }

    /// The quadratic score. It is proper for a share of success as for a plain success: nothing scores better on average
    /// than the confidence one really has.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    pub question: String,
    pub reason: String,
    /// What share of debates it will help, by whoever proposes it.
    pub estimate: Option<Probability>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedObservation {
    pub question: String,
    /// Whether its answer bore on what happened.
    pub helped: bool,
}

/// A skill that the panel lacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillNeed {
    pub skill: String,
    pub reason: String,
    /// What happened that shows it.
    pub evidence: Vec<String>,
    /// What somebody expects of it, in their words; it is shown and never counted with.
    pub expected: Option<String>,
}

/// What came up for the first time in a round, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundObservation {
    pub round: u32,
    pub right: usize,
    pub wrong: usize,
}
