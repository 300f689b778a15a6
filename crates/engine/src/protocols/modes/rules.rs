//! The rules of a debate, as the journal keeps them: the mode at the time of opening, rounds, focus, stakes, sources.

use std::collections::{BTreeMap, BTreeSet};

use roundtable_core::sources::Sources;
use roundtable_core::verification::Stakes;
use serde::{Deserialize, Serialize};

use super::enhanced::EnhancedRules;
use crate::algorithm::MajorityRule;
use crate::mode::{Mode, SpeakingOrder, Visibility};
use crate::round_value::ValueRules;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub mode: Mode,
    pub max_rounds: u32,
    /// The focus question of a round (M-14).
    #[serde(default)]
    pub focus: BTreeMap<u32, String>,
    #[serde(default)]
    pub stakes: Stakes,
    /// `None` in a plain debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enhanced: Option<EnhancedRules>,
    /// How a plain debate counts its answers at the end (E-21). `None` in debates of earlier versions, which did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<MajorityRule>,
    #[serde(default)]
    pub escalation: EscalationPolicy,
    #[serde(default)]
    pub edition: Edition,
    /// The user's sources at the time of opening (M-15).
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
    /// Seats whose model can call tools. For the others, the program searches the sources.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tool_seats: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Numbering::is_by_seat")]
    pub numbering: Numbering,
    /// Whether all seats speak at once, without objection rounds and tools (B-13).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
    /// How the value of another round is judged. `None` in debates of earlier versions, which did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueRules>,
}

/// The order in which claims, evidence and decisions of seats that spoke in parallel are numbered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbering {
    /// Also for anonymous debates of earlier versions, which keep their ids.
    #[default]
    BySeat,
    /// By a hash of seed, round and seat, so that ids in an anonymous debate do not identify seats (M-18).
    Shuffled,
}

impl Numbering {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature is serde's"
    )]
    fn is_by_seat(&self) -> bool {
        *self == Self::BySeat
    }
}

/// Whether a person is asked to decide what the panel cannot settle. An open security objection always needs a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationPolicy {
    #[default]
    Ask,
    Never,
}

/// Rules that have changed since the first debates were stored. A stored debate keeps those it was played by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edition {
    /// Stances are assigned in turn, and seats that never spoke are left out of every count.
    #[default]
    First,
    /// Stances are balanced, and seats that never spoke do not agree.
    Second,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    #[error("{found} rounds are not possible: a debate has 1 to {MAX_ROUNDS}")]
    Rounds { found: u32 },
    #[error("a focus is set for round {round}, but the rounds are 1 to {last}")]
    FocusBeyond { round: u32, last: u32 },
    #[error("the focus of round {round} is empty")]
    EmptyFocus { round: u32 },
    #[error("the focus of round {round} has {found} tokens; the limit is {MAX_FOCUS_TOKENS}")]
    LongFocus { round: u32, found: u64 },
}

pub const MAX_ROUNDS: u32 = 20;
const MAX_FOCUS_TOKENS: u64 = 200;

impl Rules {
    pub fn new(
        mode: Mode,
        max_rounds: u32,
        focus: BTreeMap<u32, String>,
        stakes: Stakes,
    ) -> Result<Self, RulesError> {
        if max_rounds == 0 || max_rounds > MAX_ROUNDS {
            return Err(RulesError::Rounds { found: max_rounds });
        }
        for (&round, text) in &focus {
            if round == 0 || round > max_rounds {
                return Err(RulesError::FocusBeyond {
                    round,
                    last: max_rounds,
                });
            }
            if text.trim().is_empty() {
                return Err(RulesError::EmptyFocus { round });
            }
            let found = crate::tokens::count(text);
            if found > MAX_FOCUS_TOKENS {
                return Err(RulesError::LongFocus { round, found });
            }
        }
        let numbering = match mode.visibility {
            Visibility::Named => Numbering::BySeat,
            Visibility::Anonymous => Numbering::Shuffled,
        };
        Ok(Self {
            mode,
            max_rounds,
            focus,
            stakes,
            enhanced: None,
            majority: None,
            escalation: EscalationPolicy::Ask,
            edition: Edition::Second,
            sources: Sources::default(),
            tool_seats: BTreeSet::new(),
            numbering,
            brief: false,
            value: None,
        })
    }

    pub fn enhanced(self, enhanced: EnhancedRules) -> Self {
        Self {
            enhanced: Some(enhanced),
            ..self
        }
    }

    /// Counts the answers at the end by this rule.
    pub fn deciding_by(self, majority: Option<MajorityRule>) -> Self {
        Self { majority, ..self }
    }

    pub fn with_escalation(self, escalation: EscalationPolicy) -> Self {
        Self { escalation, ..self }
    }

    /// The majority rule of the debate's algorithm; `None` if it does not count answers.
    pub fn majority_rule(&self) -> Option<&MajorityRule> {
        match &self.enhanced {
            Some(enhanced) => enhanced.algorithm.majority.as_ref(),
            None => self.majority.as_ref(),
        }
    }

    /// The speaking order within a round.
    pub fn order(&self) -> SpeakingOrder {
        if self.brief {
            SpeakingOrder::Parallel
        } else {
            self.mode.order
        }
    }

    pub fn with_sources(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    pub fn with_tool_seats(self, tool_seats: BTreeSet<String>) -> Self {
        Self { tool_seats, ..self }
    }
}
