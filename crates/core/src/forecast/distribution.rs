//! A probability distribution over a fixed list of outcomes. It sums to 1 by construction.

use serde::{Deserialize, Serialize};

/// Rounding error allowed in a sum of 1.
const ROUNDING: f64 = 1e-9;

/// One probability for each outcome, in the order of the outcomes; the sum is 1 to within 1e-9.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Distribution(Vec<f64>);

/// Why numbers are not a distribution. The messages are also sent to models as corrections.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum DistributionError {
    #[error("there is no outcome to give a probability to")]
    Empty,
    #[error("probability {place} is not a number")]
    NotANumber { place: usize },
    #[error("probability {place} is {value}, and no probability is negative")]
    Negative { place: usize, value: f64 },
    /// 60 may mean 60% or be a typing error for 0.60, so it is rejected rather than interpreted.
    #[error("probability {place} is {value}: write probabilities from 0 to 1, not as percentages")]
    AboveOne { place: usize, value: f64 },
    #[error("the probabilities sum to 0, so they say nothing")]
    ZeroSum,
    #[error("the probabilities sum to {sum}, not to 1")]
    WrongSum { sum: f64 },
    #[error("there are {found} probabilities for {expected} outcomes")]
    WrongCount { found: usize, expected: usize },
}

impl Distribution {
    /// Scales the numbers so that they sum to 1.
    pub fn normalised(values: &[f64]) -> Result<Self, DistributionError> {
        if values.is_empty() {
            return Err(DistributionError::Empty);
        }
        for (place, &value) in (1..).zip(values) {
            if !value.is_finite() {
                return Err(DistributionError::NotANumber { place });
            }
            if value < 0.0 {
                return Err(DistributionError::Negative { place, value });
            }
            if value > 1.0 + ROUNDING {
                return Err(DistributionError::AboveOne { place, value });
            }
        }
        let sum: f64 = values.iter().sum();
        // Dividing by a subnormal sum would lose all precision.
        if sum < f64::MIN_POSITIVE {
            return Err(DistributionError::ZeroSum);
        }
        Ok(Self(values.iter().map(|value| value / sum).collect()))
    }

    /// For numbers that should already be a distribution: a sum further than `tolerance` from 1 is an error.
    pub fn summing_to_one(values: &[f64], tolerance: f64) -> Result<Self, DistributionError> {
        let distribution = Self::normalised(values)?;
        let sum: f64 = values.iter().sum();
        if (sum - 1.0).abs() > tolerance {
            return Err(DistributionError::WrongSum { sum });
        }
        Ok(distribution)
    }

    /// Equal probability for every outcome.
    pub fn uniform(outcomes: usize) -> Result<Self, DistributionError> {
        Self::normalised(&vec![1.0; outcomes])
    }

    pub fn values(&self) -> &[f64] {
        &self.0
    }

    pub fn outcomes(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, outcome: usize) -> Option<f64> {
        self.0.get(outcome).copied()
    }

    /// The index of the likeliest outcome; the first if several are equal.
    pub fn likeliest(&self) -> usize {
        let mut best = 0;
        for (place, value) in self.0.iter().enumerate() {
            if *value > self.0[best] {
                best = place;
            }
        }
        best
    }

    /// Total variation distance: half the sum of the absolute differences, from 0 to 1. `None` if the numbers of outcomes
    /// differ.
    pub fn movement(&self, other: &Self) -> Option<f64> {
        (self.outcomes() == other.outcomes()).then(|| {
            let pairs = self.0.iter().zip(&other.0);
            pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
        })
    }

    /// Scales non-negative numbers with a positive sum to 1, without checks.
    pub(super) fn rescaled(values: Vec<f64>) -> Self {
        let sum: f64 = values.iter().sum();
        Self(values.into_iter().map(|value| value / sum).collect())
    }
}

impl TryFrom<Vec<f64>> for Distribution {
    type Error = DistributionError;

    fn try_from(values: Vec<f64>) -> Result<Self, DistributionError> {
        Self::summing_to_one(&values, ROUNDING)?;
        // Not the rescaled copy: reading back must keep every bit.
        Ok(Self(values))
    }
}

impl From<Distribution> for Vec<f64> {
    fn from(distribution: Distribution) -> Self {
        distribution.0
    }
}

#[cfg(test)]
#[path = "distribution_tests.rs"]
mod tests;
