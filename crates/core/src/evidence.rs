//! What a claim can rest on (E-01): six types of evidence, and what a piece of each is worth before anything was learned.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::Probability;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum EvidenceType {
    /// A standard, specification or official document.
    Documented,
    /// A measurement, a test, data.
    Empirical,
    /// A similar project, a known pattern, a case.
    Precedent,
    /// A chain of reasons from first principles.
    Logical,
    /// A preference, of whomever.
    Preferential,
    /// A guess that has yet to be tested.
    Speculative,
}

impl EvidenceType {
    /// From the strongest to the weakest.
    pub const ALL: [Self; 6] = [
        Self::Documented,
        Self::Empirical,
        Self::Precedent,
        Self::Logical,
        Self::Preferential,
        Self::Speculative,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Documented => "DOCUMENTED",
            Self::Empirical => "EMPIRICAL",
            Self::Precedent => "PRECEDENT",
            Self::Logical => "LOGICAL",
            Self::Preferential => "PREFERENTIAL",
            Self::Speculative => "SPECULATIVE",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The weight it has as long as nothing was learned.
    pub const fn prior_weight(self) -> Probability {
        Probability::percent(match self {
            Self::Documented => 90,
            Self::Empirical => 85,
            Self::Precedent => 70,
            Self::Logical => 60,
            Self::Preferential => 40,
            Self::Speculative => 20,
        })
    }
}

impl fmt::Display for EvidenceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a piece of each type is worth in a debate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE", deny_unknown_fields)]
pub struct Weights {
    pub documented: Probability,
    pub empirical: Probability,
    pub precedent: Probability,
    pub logical: Probability,
    pub preferential: Probability,
    pub speculative: Probability,
}

impl Default for Weights {
    fn default() -> Self {
        Self::each(EvidenceType::prior_weight)
    }
}

impl Weights {
    pub fn each(weight: impl Fn(EvidenceType) -> Probability) -> Self {
        Self {
            documented: weight(EvidenceType::Documented),
            empirical: weight(EvidenceType::Empirical),
            precedent: weight(EvidenceType::Precedent),
            logical: weight(EvidenceType::Logical),
            preferential: weight(EvidenceType::Preferential),
            speculative: weight(EvidenceType::Speculative),
        }
    }

    pub const fn of(&self, kind: EvidenceType) -> Probability {
        match kind {
            EvidenceType::Documented => self.documented,
            EvidenceType::Empirical => self.empirical,
            EvidenceType::Precedent => self.precedent,
            EvidenceType::Logical => self.logical,
            EvidenceType::Preferential => self.preferential,
            EvidenceType::Speculative => self.speculative,
        }
    }
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
