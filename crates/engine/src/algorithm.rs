//! Decision algorithms of panels as data (`algorithms/NAME.toml`): evidence, stopping rule, veto and majority rule (E-21).
//! The user's files work like the built-in ones.

use roundtable_core::evidence::Level;
use serde::{Deserialize, Serialize};

use crate::data::{Data, DataError, DataKind, is_name};

/// Used if none is chosen.
pub const DEFAULT: &str = "democratic_majority";
/// Used by enhanced debates.
pub const ENHANCED: &str = "evidence_based_debate";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Algorithm {
    pub name: String,
    pub summary: String,
    pub evidence: Evidence,
    pub ends_by: EndsBy,
    pub veto: Veto,
    /// The confidence of the outcome by size of the minority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<MajorityRule>,
}

/// Whether every claim needs evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    Optional,
    Required,
}

/// The stopping rule of the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndsBy {
    /// Votes, a plateau, or the last round (M-05).
    Votes,
    /// The measures taken after each round (E-08), or the last round.
    Convergence,
}

/// The right to halt a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Veto {
    None,
    /// A seat with a security objection; a person can override it.
    Security,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MajorityRule {
    pub levels: Vec<MajorityLevel>,
    /// If the minority is larger than any level allows; a person then decides.
    pub otherwise: Level,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MajorityLevel {
    /// The largest minority for this level.
    pub minority: usize,
    pub confidence: Level,
}

/// The outcome of a count of votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    Carried(Level),
    /// No sufficient majority: a person decides.
    Open(Level),
}

impl MajorityRule {
    /// Applies the rule. An equal split is not a majority, even if the minority is small enough.
    pub fn count(&self, majority: usize, minority: usize) -> Count {
        let levels = self.levels.iter();
        let allowed = levels.filter(|level| level.minority >= minority);
        match allowed.min_by_key(|level| level.minority) {
            Some(level) if majority > minority => Count::Carried(level.confidence),
            Some(_) | None => Count::Open(self.otherwise),
        }
    }
}

impl Algorithm {
    pub fn load(data: &Data, name: &str) -> Result<Self, DataError> {
        let text = data.named(DataKind::Algorithms, "algorithm", name)?;
        let algorithm: Self = text.parse()?;
        let name = &algorithm.name;
        if !is_name(name, "_-") {
            let message = format!(
                "invalid algorithm name '{name}': use lowercase letters, digits, dashes and underscores"
            );
            return Err(text.broken(text.line_naming(name), message));
        }
        Ok(algorithm)
    }

    pub fn names(data: &Data) -> Result<Vec<String>, DataError> {
        data.names(DataKind::Algorithms)
    }
}

#[cfg(test)]
#[path = "algorithm_tests.rs"]
mod tests;
