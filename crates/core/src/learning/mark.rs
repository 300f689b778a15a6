//! The outcome of a piece of evidence (E-14).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Mark {
    /// It was heeded, and it held.
    Validated,
    /// It was heeded, and it did not hold.
    Refuted,
    /// It was not heeded, and it would have held.
    DismissedButRelevant,
    /// It held as far as it went, and left out what mattered.
    Incomplete,
}

impl Mark {
    pub const ALL: [Self; 4] = [
        Self::Validated,
        Self::Refuted,
        Self::DismissedButRelevant,
        Self::Incomplete,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Validated => "validated",
            Self::Refuted => "refuted",
            Self::DismissedButRelevant => "dismissed but relevant",
            Self::Incomplete => "incomplete",
        }
    }

    /// How reliable the evidence was. The weight of its type is learned from this: evidence that was right is not trusted
    /// less because a debate dismissed it.
    pub const fn held(self) -> f64 {
        match self {
            Self::Validated | Self::DismissedButRelevant => 1.0,
            Self::Incomplete => 0.5,
            Self::Refuted => 0.0,
        }
    }

    /// How well the debate used it. Reports call this the accuracy of a type.
    pub const fn heeded(self) -> f64 {
        match self {
            Self::Validated => 1.0,
            Self::Incomplete => 0.5,
            Self::Refuted | Self::DismissedButRelevant => 0.0,
        }
    }
}
