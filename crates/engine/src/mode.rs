//! Debate modes as data (`modes/NAME.toml`): the four layers of the prompt, speaking order, visibility, and two verification
//! questions (M-01, M-02). The user's files work like the built-in ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::{Data, DataError, DataKind, Text, is_name};

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
    /// The meaning of being helpful in this mode.
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
        Self::parse(&data.named(DataKind::Modes, "mode", name)?)
    }

    pub fn names(data: &Data) -> Result<Vec<String>, DataError> {
        data.names(DataKind::Modes)
    }

    /// Parses one mode file.
    ///
    /// # Errors
    /// [`DataError::Broken`] with file, line and what was expected.
    pub fn parse(text: &Text) -> Result<Self, DataError> {
        let mode: Self = text.parse()?;
        mode.check().map_err(|(word, message)| {
            let line = text.content.lines().position(|line| line.contains(word));
            text.broken(line.map_or(1, |index| index + 1), message)
        })?;
        Ok(mode)
    }

    /// Checks what the type cannot express; an error has the key it is about.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if !is_name(&self.name, "-") {
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
        let (role, contract) = (&self.role, &self.contract);
        let is_blank = |text: &String| text.trim().is_empty();
        let questions = [&self.verification.first, &self.verification.second];
        let structure = [&self.structure.first, &self.structure.later];
        let empty = [
            ("summary", is_blank(&self.summary)),
            ("identity", is_blank(&role.identity)),
            ("mission", is_blank(&role.mission)),
            ("must", contract.must.is_empty()),
            ("must_not", contract.must_not.is_empty()),
            ("priorities", contract.priorities.is_empty()),
            ("failure", is_blank(&contract.failure)),
            ("structure", structure.into_iter().any(Vec::is_empty)),
            ("verification", questions.into_iter().any(is_blank)),
        ];
        if let Some((word, _)) = empty.into_iter().find(|(_, is_empty)| *is_empty) {
            let message = format!("'{word}' is empty; a mode needs all four layers");
            return Err((word, message));
        }
        let mut sections = structure.into_iter().flatten();
        if sections.any(|section| is_blank(&section.heading)) {
            return Err(("heading", "a heading is empty".into()));
        }
        let needed = self.needed_variants();
        let mut missing = needed
            .iter()
            .filter(|name| !self.variants.contains_key(**name));
        if let Some(name) = missing.next() {
            let message = format!("missing [variants.{name}]: its seats need a role");
            return Err(("variants", message));
        }
        let mut given = self.variants.keys();
        if let Some(name) = given.find(|name| !needed.contains(&name.as_str())) {
            let message = format!(
                "unused [variants.{name}]: this mode's `order` and `stances` have no such variant"
            );
            return Err(("variants", message));
        }
        Ok(())
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
        let (contract, questions) = (&self.contract, &self.verification);
        let lists = [&contract.must, &contract.must_not, &contract.priorities];
        let ends = [&contract.failure, &questions.first, &questions.second];
        let all = role
            .into_iter()
            .chain(lists.into_iter().flatten())
            .chain(ends);
        all.map(String::as_str)
    }
}

/// A starting point for a new mode file.
pub const SKELETON: &str = include_str!("../modes/collaborative.toml");

#[cfg(test)]
#[path = "mode_tests.rs"]
mod tests;
