//! When the proposer and the skeptic are done (P-05). Read from typed fields, never from words in the text.

use serde::{Deserialize, Serialize};

use crate::bounded::OutOfTen;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub min_rounds: u32,
    pub max_rounds: u32,
    pub early_stop_score: OutOfTen,
}

/// What the skeptic says about the answer as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assessment {
    pub quality: OutOfTen,
    pub ready: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    SkepticReady,
    EarlyStopScore,
    RoundCap,
    NoCriticalIssue,
}

impl Stop {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::SkepticReady => "the skeptic had no more to ask for",
            Self::EarlyStopScore => "the skeptic's score reached the mark for an early stop",
            Self::RoundCap => "the last allowed round was played",
            Self::NoCriticalIssue => "no critical issue was open after the least number of rounds",
        }
    }
}

/// In this order: the skeptic is ready, in any round; the cap; no critical issue open after the minimum of rounds.
///
/// `skeptic` is `None` where the skeptic was absent: nothing can be read from silence but the cap.
pub fn after_round(
    round: u32,
    skeptic: Option<Assessment>,
    open_critical: usize,
    limits: &Limits,
) -> Option<Stop> {
    if let Some(said) = skeptic {
        if said.ready {
            return Some(Stop::SkepticReady);
        }
        if said.quality >= limits.early_stop_score {
            return Some(Stop::EarlyStopScore);
        }
    }
    if round >= limits.max_rounds {
        return Some(Stop::RoundCap);
    }
    (skeptic.is_some() && open_critical == 0 && round >= limits.min_rounds)
        .then_some(Stop::NoCriticalIssue)
}

/// True only when it ended before the cap, whatever the reason.
pub const fn stopped_early(round: u32, limits: &Limits) -> bool {
    round < limits.max_rounds
}

#[cfg(test)]
#[path = "stopping_tests.rs"]
mod tests;
