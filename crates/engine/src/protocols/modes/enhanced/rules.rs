//! The rules of an enhanced debate, fixed when the debate is opened.

use roundtable_core::convergence::Thresholds;
use roundtable_core::evidence::Weights;
use roundtable_core::learning::{Domain, Learned};
use serde::{Deserialize, Serialize};

use crate::algorithm::{Algorithm, EndsBy, Evidence};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnhancedRules {
    pub algorithm: Algorithm,
    /// The algorithm's, unless the request or the policy overrides it.
    pub evidence: Evidence,
    pub ends_by: EndsBy,
    #[serde(default)]
    pub thresholds: Thresholds,
    /// Learned in the domain, or the design's defaults.
    #[serde(default)]
    pub weights: Weights,
    #[serde(default)]
    pub learning: Learning,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Questions that every position has to answer, learned from earlier debates of the domain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_questions: Vec<String>,
    /// Knowledge of the domain when the debate was opened. Stored, so that later lessons do not change a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

/// Whether the debate uses lessons of its domain and contributes to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Learning {
    #[default]
    Enabled,
    Disabled,
}

impl EnhancedRules {
    /// The algorithm's rules with the design's thresholds and weights.
    pub fn new(algorithm: Algorithm) -> Self {
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

    /// Adds the lessons of the domain, unless learning is disabled.
    #[must_use]
    pub fn in_domain(mut self, domain: Option<&Domain>, learned: Option<Learned>) -> Self {
        self.domain = domain.map(|domain| domain.name().to_owned());
        let learned = learned.filter(|learned| {
            self.learning == Learning::Enabled && domain == Some(&learned.domain)
        });
        if let Some(learned) = &learned {
            self.weights = learned.weights;
            let questions = learned.questions.iter();
            self.required_questions = questions.map(|q| q.question.clone()).collect();
        }
        self.learned = learned;
        self
    }

    /// Whether rounds are measured: only if convergence ends the debate.
    pub fn is_measured(&self) -> bool {
        self.ends_by == EndsBy::Convergence
    }

    pub fn wants_evidence(&self) -> bool {
        self.evidence == Evidence::Required
    }
}
