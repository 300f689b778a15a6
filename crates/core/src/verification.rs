//! The self-check questions a seat answers about its own reply (M-10): 7 universal, 2 of the mode, 1 more at high stakes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asked in every mode, in this order.
pub const UNIVERSAL: [(&str, &str); 7] = [
    ("clarity", "Is the core position stated outright?"),
    ("grounding", "Does every [FACT] have a citation?"),
    (
        "alternatives",
        "Are at least two alternatives considered, each with the reason it is rejected?",
    ),
    (
        "risks",
        "Are the three gravest ways to fail named, each with a mitigation?",
    ),
    (
        "uncertainty",
        "Is it said what remains uncertain, and what would settle it?",
    ),
    ("consistency", "Is it free of contradictions within itself?"),
    (
        "safety",
        "Does it keep clear of harmful guidance, and has misuse been thought of?",
    ),
];
pub const MODE_QUESTIONS: usize = 2;
pub const HIGH_STAKES: &str = "Are the limits of scope, the points where a person must approve, and the way to abort or roll back named?";
pub const MAX_QUESTIONS: usize = 10;

/// The minimum numbers of alternatives and risks in a reply.
pub const ALTERNATIVES: usize = 2;
pub const RISKS: usize = 3;

/// The stakes of the decision, as stated by the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stakes {
    #[default]
    Ordinary,
    High,
}

/// The number of questions, at most [`MAX_QUESTIONS`].
pub const fn count(stakes: Stakes) -> usize {
    let extra = match stakes {
        Stakes::Ordinary => 0,
        Stakes::High => 1,
    };
    UNIVERSAL.len() + MODE_QUESTIONS + extra
}

/// A seat's answers. True: the check holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is the answer to one yes-no question"
)]
pub struct Answers {
    pub clarity: bool,
    pub grounding: bool,
    pub alternatives: bool,
    pub risks: bool,
    pub uncertainty: bool,
    pub consistency: bool,
    pub safety: bool,
    /// The first question of the mode.
    pub mode_first: bool,
    /// The second question of the mode.
    pub mode_second: bool,
    /// Only where much is at stake.
    #[serde(default)]
    pub high_stakes: Option<bool>,
}

impl Answers {
    /// The names of the questions answered with no; a missing answer counts as no.
    pub fn failed(&self, stakes: Stakes) -> Vec<&'static str> {
        let own = [
            ("clarity", self.clarity),
            ("grounding", self.grounding),
            ("alternatives", self.alternatives),
            ("risks", self.risks),
            ("uncertainty", self.uncertainty),
            ("consistency", self.consistency),
            ("safety", self.safety),
            ("mode_first", self.mode_first),
            ("mode_second", self.mode_second),
        ];
        let extra = match stakes {
            Stakes::Ordinary => None,
            Stakes::High => Some(("high_stakes", self.high_stakes.unwrap_or(false))),
        };
        own.into_iter()
            .chain(extra)
            .filter(|(_, holds)| !holds)
            .map(|(name, _)| name)
            .collect()
    }
}

#[cfg(test)]
#[path = "verification_tests.rs"]
mod tests;
