//! What an enhanced debate is played by, all of it settled when the debate is opened.

use roundtable_core::convergence::Thresholds;
use roundtable_core::evidence::Weights;
use roundtable_core::learning::{Domain, Learned};
use serde::{Deserialize, Serialize};

use crate::algorithm::{Algorithm, EndsBy, Evidence};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Enhanced {
    pub algorithm: Algorithm,
    /// The algorithm's, or more than it asks for.
    pub evidence: Evidence,
    pub ends_by: EndsBy,
    #[serde(default)]
    pub thresholds: Thresholds,
    /// What was learned in the domain, or what the design starts with.
    #[serde(default)]
    pub weights: Weights,
    #[serde(default)]
    pub learning: Learning,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Questions that every position has to answer, as earlier debates of the domain taught.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_questions: Vec<String>,
    /// All that was learned in the domain when the debate was opened, so that a replay is the same whatever came later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

/// Whether this debate may be learned from, and uses what was learned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Learning {
    #[default]
    Enabled,
    Disabled,
}

impl Enhanced {
    /// As the algorithm has it, with the design's thresholds and weights.
    pub fn by(algorithm: Algorithm) -> Self {
        Self {
            evidence: algorithm.evidence,
            ends_by: algorithm.ends_by,
            algorithm,
            thresholds: Thresholds::default(),
            weights: Weights::default(),
            learning: Learning::Enabled,
            domain: None,
            required_questions: Vec::new(),
            learned: None,
        }
    }

    /// With what was learned in its domain, unless learning is switched off.
    #[must_use]
    pub fn in_domain(mut self, domain: Option<&Domain>, learned: Option<Learned>) -> Self {
        self.domain = domain.map(|it| it.name().to_owned());
        let learned = learned.filter(|it| {
            self.learning == Learning::Enabled && domain.is_some_and(|domain| it.domain == *domain)
        });
        if let Some(learned) = &learned {
            self.weights = learned.weights;
            let questions = learned.questions.iter();
            self.required_questions = questions.map(|it| it.question.clone()).collect();
        }
        self.learned = learned;
        self
    }

    /// Whether rounds are measured: only where something follows from it.
    pub fn is_measured(&self) -> bool {
        self.ends_by == EndsBy::Convergence
    }

    pub fn wants_evidence(&self) -> bool {
        self.evidence == Evidence::Required
    }
}
