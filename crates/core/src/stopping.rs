//! When the debate of proposer and skeptic ends (P-05). Decided from typed fields, never from text.

use serde::{Deserialize, Serialize};

use crate::bounded::OutOfTen;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub min_rounds: u32,
    pub max_rounds: u32,
    pub early_stop_score: OutOfTen,
}

/// The skeptic's assessment of the answer as a whole.
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
            Self::SkepticReady => "the skeptic called it ready",
            Self::EarlyStopScore => "the skeptic's score reached the mark for an early stop",
            Self::RoundCap => "the last allowed round was played",
            Self::NoCriticalIssue => {
                "no critical issue was open after the minimum number of rounds"
            }
        }
    }
}

/// In this order: the skeptic is ready or its score is high enough, in any round; the round cap; no open critical issue after
/// the minimum number of rounds.
///
/// `skeptic` is `None` if the skeptic was absent; then only the cap applies.
pub fn after_round(
    round: u32,
    skeptic: Option<Assessment>,
    open_critical: usize,
    limits: &Limits,
) -> Option<Stop> {
    if let Some(assessment) = skeptic {
        if assessment.ready {
            return Some(Stop::SkepticReady);
        }
        if assessment.quality >= limits.early_stop_score {
            return Some(Stop::EarlyStopScore);
        }
    }
    if round >= limits.max_rounds {
        return Some(Stop::RoundCap);
    }
    (skeptic.is_some() && open_critical == 0 && round >= limits.min_rounds)
        .then_some(Stop::NoCriticalIssue)
}

/// Whether it ended before the cap, for any reason.
pub const fn stopped_early(round: u32, limits: &Limits) -> bool {
    round < limits.max_rounds
}

#[cfg(test)]
#[path = "stopping_tests.rs"]
mod tests;
