//! How a panel comes to its decision, as data (`algorithms/NAME.toml`): whether claims carry evidence, what ends the rounds,
//! who can stop them, and what a majority is worth (E-21). The user's own files work like the built-in ones.

use roundtable_core::evidence::Level;
use serde::{Deserialize, Serialize};

use crate::data::{Data, DataError, Shelf, Text};

/// The one that counts where nothing is chosen.
pub const DEFAULT: &str = "democratic_majority";
/// The one of enhanced debates.
pub const ENHANCED: &str = "evidence_based_debate";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Algorithm {
    pub name: String,
    pub summary: String,
    pub evidence: Evidence,
    pub ends_by: EndsBy,
    pub veto: Veto,
    /// What the number of those who stand apart makes of the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<MajorityRule>,
}

/// Whether every claim has to carry evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    Optional,
    Required,
}

/// What ends the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndsBy {
    /// Votes, a plateau, the last round (M-05).
    Votes,
    /// What is measured after each round (E-08), or the last round.
    Convergence,
}

/// Who can halt a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Veto {
    None,
    /// A seat that objects on grounds of security; a person overrides it.
    Security,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MajorityRule {
    pub levels: Vec<MajorityLevel>,
    /// Where more stand apart than any level allows; then a person is asked.
    pub otherwise: Level,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MajorityLevel {
    /// So many may stand apart.
    pub minority: usize,
    pub confidence: Level,
}

/// What a count of votes is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    Carried(Level),
    /// Too many stand apart: a person is asked.
    Open(Level),
}

impl MajorityRule {
    /// `majority` who stand together and `minority` who do not. Nobody is no majority.
    pub fn count(&self, majority: usize, minority: usize) -> Count {
        let fitting = self.levels.iter().filter(|it| it.minority >= minority);
        // One of two is no majority, however few may stand apart.
        let carries = majority > minority;
        match fitting.min_by_key(|it| it.minority) {
            Some(level) if carries => Count::Carried(level.confidence),
            Some(_) | None => Count::Open(self.otherwise),
        }
    }
}

impl Algorithm {
    pub fn load(data: &Data, name: &str) -> Result<Self, DataError> {
        let Some(text) = data.one(Shelf::Algorithms, &format!("{name}.toml"))? else {
            return Err(DataError::Unknown {
                what: "algorithm",
                name: name.to_owned(),
                known: Self::names(data)?,
            });
        };
        Self::parse(&text)
    }

    pub fn names(data: &Data) -> Result<Vec<String>, DataError> {
        let files = data.all(Shelf::Algorithms)?.into_keys();
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
                    "'{}' is no name for an algorithm: use small letters, digits, dashes and underscores",
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
