//! The judge's score (P-08): the weighted mean of four criteria from 1 to 10.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::{OutOfTen, Score};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Marks {
    /// Is it factually and logically right?
    pub correctness: OutOfTen,
    /// Does it answer all parts of the question?
    pub completeness: OutOfTen,
    /// Is it well ordered and easy to follow?
    pub clarity: OutOfTen,
    /// Does it go below the surface?
    pub depth: OutOfTen,
}

pub const WEIGHTS: [f64; 4] = [0.40, 0.25, 0.20, 0.15];

impl Marks {
    /// The weighted mean to one decimal, computed here because models are unreliable at arithmetic.
    pub fn score(&self) -> Score {
        let marks = [
            self.correctness,
            self.completeness,
            self.clarity,
            self.depth,
        ];
        let mean: f64 = marks
            .iter()
            .zip(WEIGHTS)
            .map(|(mark, weight)| f64::from(mark.value()) * weight)
            .sum();
        let rounded = (mean * 10.0).round() / 10.0;
        // The mean lies within the range of the marks; the clamp only removes rounding error at the ends.
        Score::new(rounded.clamp(1.0, 10.0))
            .unwrap_or_else(|_| unreachable!("clamped to its range"))
    }
}

#[cfg(test)]
#[path = "quality_tests.rs"]
mod tests;
