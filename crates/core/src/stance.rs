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

    /// YES and NO get equally many seats, NEUTRAL the others, at least one. The seats for YES come first, then those for NO.
    pub const fn of_seat(index: usize, seats: usize) -> Self {
        let side = seats.saturating_sub(1) / 2;
        if index < side {
            Self::Yes
        } else if index < 2 * side {
            Self::No
        } else {
            Self::Neutral
        }
    }

    /// In turn, as debates of the first version were assigned: YES, NO, NEUTRAL.
    pub const fn in_turn(index: usize) -> Self {
        Self::ALL[index % Self::ALL.len()]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum StanceFault {
    #[error("the stance is {} instead of {}. Hold to the one you were given", stated.name(), assigned.name())]
    Abandoned { assigned: Stance, stated: Stance },
    #[error("the stance is missing. State the one that you were given in `stance`: {}", assigned.name())]
    Missing { assigned: Stance },
    #[error("there are no stances in this mode. Leave `stance` out")]
    OutOfPlace,
}

/// `assigned` is `None` in every mode except devils-advocate.
pub fn check(assigned: Option<Stance>, stated: Option<Stance>) -> Option<StanceFault> {
    match (assigned, stated) {
        (Some(assigned), Some(stated)) if assigned != stated => {
            Some(StanceFault::Abandoned { assigned, stated })
        }
        (Some(assigned), None) => Some(StanceFault::Missing { assigned }),
        (None, Some(_)) => Some(StanceFault::OutOfPlace),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

#[cfg(test)]
#[path = "stance_tests.rs"]
mod tests;
