//! Decision algorithms of panels as data (`algorithms/NAME.toml`): evidence, stopping rule, veto and majority rule (E-21).
//! The user's files work like the built-in ones.

use roundtable_core::evidence::Level;
use serde::{Deserialize, Serialize};

use crate::data::{Data, DataError, DataKind, Text};

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
        let levels = self
            .levels
            .iter()
            .filter(|level| level.minority >= minority);
        let is_majority = majority > minority;
        match levels.min_by_key(|level| level.minority) {
            Some(level) if is_majority => Count::Carried(level.confidence),
            Some(_) | None => Count::Open(self.otherwise),
        }
    }
}

impl Algorithm {
    pub fn load(data: &Data, name: &str) -> Result<Self, DataError> {
        let Some(text) = data.one(DataKind::Algorithms, &format!("{name}.toml"))? else {
            return Err(DataError::Unknown {
                what: "algorithm",
                name: name.to_owned(),
                known: Self::names(data)?,
            });
        };
        Self::parse(&text)
    }

    pub fn names(data: &Data) -> Result<Vec<String>, DataError> {
        let files = data.all(DataKind::Algorithms)?.into_keys();
        Ok(files
            .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
            .collect())
    }

    fn parse(text: &Text) -> Result<Self, DataError> {
        let algorithm: Self = text.parse()?;
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        if algorithm.name.is_empty() || !algorithm.name.chars().all(is_name) {
            return Err(DataError::Broken {
                file: text.file(),
                line: text.line_naming(&algorithm.name),
                message: format!(
                    "invalid algorithm name '{}': use lowercase letters, digits, dashes and underscores",
                    algorithm.name
                ),
            });
        }
        Ok(algorithm)
    }
}

#[cfg(test)]
#[path = "algorithm_tests.rs"]
mod tests;
