//! Stances, which exist only in the devils-advocate mode (M-06). They are assigned to seats and do not change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Stance {
    Yes,
    No,
    Neutral,
}

impl Stance {
    pub const ALL: [Self; 3] = [Self::Yes, Self::No, Self::Neutral];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "YES",
            Self::No => "NO",
            Self::Neutral => "NEUTRAL",
        }
    }

    /// From 0 (no) to 1 (yes), for the standard deviation of stances.
    pub const fn value(self) -> f64 {
        match self {
            Self::Yes => 1.0,
            Self::No => 0.0,
            Self::Neutral => 0.5,
        }
    }

    /// Assigned in turn: YES, NO, NEUTRAL.
    pub const fn of_seat(index: usize) -> Self {
        Self::ALL[index % Self::ALL.len()]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum StanceFault {
    #[error("the stance is {} instead of {}. Hold to the one you were given", stated.name(), assigned.name())]
    Abandoned { assigned: Stance, stated: Stance },
    #[error("there are no stances in this mode. Leave `stance` out")]
    OutOfPlace,
}

/// `assigned` is `None` in every mode except devils-advocate. A seat that states no stance keeps its assigned one.
pub fn check(assigned: Option<Stance>, stated: Option<Stance>) -> Option<StanceFault> {
    match (assigned, stated) {
        (Some(assigned), Some(stated)) if assigned != stated => {
            Some(StanceFault::Abandoned { assigned, stated })
        }
        (None, Some(_)) => Some(StanceFault::OutOfPlace),
        (Some(_) | None, _) => None,
    }
}

#[cfg(test)]
#[path = "stance_tests.rs"]
mod tests;
