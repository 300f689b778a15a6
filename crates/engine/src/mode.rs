//! Debate modes as data (`modes/NAME.toml`): the four layers of the prompt, speaking order, visibility, and two verification
//! questions (M-01, M-02). The user's files work like the built-in ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::{Data, DataError, DataKind, Text};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    pub name: String,
    pub summary: String,
    pub order: SpeakingOrder,
    #[serde(default)]
    pub visibility: Visibility,
    #[serde(default)]
    pub stances: Stances,
    #[serde(default)]
    pub estimates: Estimates,
    #[serde(default)]
    pub caution: Caution,
    #[serde(default)]
    pub mitigations: Mitigations,
    pub role: Role,
    pub contract: Contract,
    pub structure: Structure,
    pub verification: Questions,
    /// Additions for a team or stance: `red`, `blue`, `yes`, `no`, `neutral`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, Variant>,
}

/// Speaking order within a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpeakingOrder {
    /// All concurrently; seats see each other's turns in the next round.
    Parallel,
    /// One after the other, each seeing the turns before.
    Sequence,
    /// The red team concurrently, then the blue team, which sees the red team's turns.
    RedThenBlue,
}

/// Whether seats see who said what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    #[default]
    Named,
    Anonymous,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stances {
    #[default]
    None,
    /// Each seat is assigned one and keeps it (M-06).
    Assigned,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimates {
    #[default]
    None,
    /// If the question asks for a number, each seat gives one.
    Asked,
}

/// Whether the mode itself requires the second safety tier (M-09).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caution {
    #[default]
    Ordinary,
    Watched,
}

/// Whether every weakness needs a mitigation (M-09).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mitigations {
    #[default]
    Optional,
    Required,
}

/// The first layer: who the seat is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    pub identity: String,
    pub mission: String,
    pub persistence: String,
    /// What being helpful means in this mode.
    pub helpful: String,
}

/// The second layer: what it does and does not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    pub must: Vec<String>,
    pub must_not: Vec<String>,
    pub priorities: Vec<String>,
    pub failure: String,
}

/// The third layer: what its argument consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    pub first: Vec<Section>,
    pub later: Vec<Section>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    pub heading: String,
    pub what: String,
}

/// The fourth layer: the mode's two verification questions, in addition to the common ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Questions {
    pub first: String,
    pub second: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub role: String,
    #[serde(default)]
    pub must: Vec<String>,
    #[serde(default)]
    pub must_not: Vec<String>,
}

/// The only mode with stances (M-06).
const WITH_STANCES: &str = "devils-advocate";

impl Mode {
    pub fn load(data: &Data, name: &str) -> Result<Self, DataError> {
        let Some(text) = data.one(DataKind::Modes, &format!("{name}.toml"))? else {
            return Err(DataError::Unknown {
                what: "mode",
                name: name.to_owned(),
                known: Self::names(data)?,
            });
        };
        Self::parse(&text)
    }

    pub fn names(data: &Data) -> Result<Vec<String>, DataError> {
        let files = data.all(DataKind::Modes)?.into_keys();
        Ok(files
            .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
            .collect())
    }

    /// Parses one mode file.
    ///
    /// # Errors
    /// [`DataError::Broken`] with file, line and what was expected.
    pub fn parse(text: &Text) -> Result<Self, DataError> {
        let mode: Self = text.parse()?;
        mode.check().map_err(|(word, message)| DataError::Broken {
            file: text.file(),
            line: line_with(&text.content, word),
            message,
        })?;
        Ok(mode)
    }

    /// Checks what the type cannot express; an error has the key it is about.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(is_name) {
            let message = format!(
                "invalid mode name '{}': use lowercase letters, digits and dashes",
                self.name
            );
            return Err(("name", message));
        }
        if self.stances == Stances::Assigned && self.name != WITH_STANCES {
            let message =
                format!("only the mode '{WITH_STANCES}' supports `stances`; remove the key");
            return Err(("stances", message));
        }
        for (word, is_empty) in [
            ("summary", self.summary.trim().is_empty()),
            ("identity", self.role.identity.trim().is_empty()),
            ("mission", self.role.mission.trim().is_empty()),
            ("must", self.contract.must.is_empty()),
            ("must_not", self.contract.must_not.is_empty()),
            ("priorities", self.contract.priorities.is_empty()),
            ("failure", self.contract.failure.trim().is_empty()),
            (
                "structure",
                self.structure.first.is_empty() || self.structure.later.is_empty(),
            ),
            (
                "verification",
                self.verification.first.trim().is_empty()
                    || self.verification.second.trim().is_empty(),
            ),
        ] {
            if is_empty {
                return Err((
                    word,
                    format!("'{word}' is empty; a mode needs all four layers"),
                ));
            }
        }
        if self
            .sections()
            .any(|section| section.heading.trim().is_empty())
        {
            return Err(("heading", "a heading is empty".into()));
        }
        let missing = self
            .needed_variants()
            .iter()
            .find(|name| !self.variants.contains_key(**name));
        if let Some(name) = missing {
            return Err((
                "variants",
                format!("missing [variants.{name}]: its seats need a role"),
            ));
        }
        let known = self.needed_variants();
        match self
            .variants
            .keys()
            .find(|name| !known.contains(&name.as_str()))
        {
            Some(name) => Err((
                "variants",
                format!(
                    "unused [variants.{name}]: this mode's `order` and `stances` have no such variant"
                ),
            )),
            None => Ok(()),
        }
    }

    fn sections(&self) -> impl Iterator<Item = &Section> {
        self.structure.first.iter().chain(&self.structure.later)
    }

    fn needed_variants(&self) -> &'static [&'static str] {
        match (self.order, self.stances) {
            (SpeakingOrder::RedThenBlue, _) => &["red", "blue"],
            (_, Stances::Assigned) => &["yes", "no", "neutral"],
            (SpeakingOrder::Parallel | SpeakingOrder::Sequence, Stances::None) => &[],
        }
    }

    /// The sections of an argument in this round.
    pub fn structure_of(&self, round: u32) -> &[Section] {
        if round <= 1 {
            &self.structure.first
        } else {
            &self.structure.later
        }
    }

    /// All texts that prompts contain, for token counting.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let role = [
            &self.role.identity,
            &self.role.mission,
            &self.role.persistence,
            &self.role.helpful,
        ];
        let contract = &self.contract;
        let lists = contract
            .must
            .iter()
            .chain(&contract.must_not)
            .chain(&contract.priorities);
        let ends = [
            &contract.failure,
            &self.verification.first,
            &self.verification.second,
        ];
        role.into_iter()
            .chain(lists)
            .chain(ends)
            .map(String::as_str)
    }
}

fn line_with(content: &str, word: &str) -> usize {
    content
        .lines()
        .position(|line| line.contains(word))
        .map_or(1, |index| index + 1)
}

/// A starting point for a new mode file.
pub const SKELETON: &str = include_str!("../modes/collaborative.toml");

#[cfg(test)]
#[path = "mode_tests.rs"]
mod tests;
