//! The rules of a dialectic (P-01). Models and temperatures belong to the seats.

use roundtable_core::bounded::OutOfTen;
use roundtable_core::stopping::Limits;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    pub min_rounds: u32,
    pub max_rounds: u32,
    pub early_stop_score: OutOfTen,
    /// Whether a judge scores the final answer.
    pub auto_score: bool,
    /// The caller's answer, which the skeptic attacks in round 1 in place of one by the proposer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub my_answer: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    #[error(
        "invalid rounds {min} to {max}: the minimum must be at least 1 and not above the maximum"
    )]
    Rounds { min: u32, max: u32 },
    #[error("{max} rounds are too many: the maximum is {MAX_ROUNDS}")]
    TooManyRounds { max: u32 },
    #[error("invalid early stop score {found}: scores go from 1 to 10")]
    EarlyStopScore { found: u8 },
}

pub(super) const MAX_ROUNDS: u32 = 20;

impl Rules {
    pub fn new(min_rounds: u32, max_rounds: u32, early_stop_score: u8) -> Result<Self, RulesError> {
        if min_rounds == 0 || min_rounds > max_rounds {
            return Err(RulesError::Rounds {
                min: min_rounds,
                max: max_rounds,
            });
        }
        if max_rounds > MAX_ROUNDS {
            return Err(RulesError::TooManyRounds { max: max_rounds });
        }
        let early_stop_score =
            OutOfTen::new(early_stop_score).map_err(|_| RulesError::EarlyStopScore {
                found: early_stop_score,
            })?;
        Ok(Self {
            min_rounds,
            max_rounds,
            early_stop_score,
            auto_score: true,
            my_answer: None,
        })
    }

    pub fn limits(&self) -> Limits {
        Limits {
            min_rounds: self.min_rounds,
            max_rounds: self.max_rounds,
            early_stop_score: self.early_stop_score,
        }
    }
}
