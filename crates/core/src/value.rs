//! The value of another round (B-10): how likely it is to change the leading answer, and what movement of probabilities has
//! been worth so far.
//!
//! Both are learned from this installation's own debates. The prior for the leading answer comes from 502 published debates of
//! three rounds; the prior for probabilities is "not known to be worth anything".

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::learning::beta::{Estimate, posterior};

/// The chance of a change below which another round is not played, unless configured otherwise.
pub const MIN_CHANCE: f64 = 0.05;

/// How many recorded rounds the prior counts as.
const PRIOR_STRENGTH: f64 = 10.0;

/// The squared movement of the next round over that of the last.
const PERSISTENCE: f64 = 0.46;

/// Squared movement that the prior of the efficiency counts as.
const EFFICIENCY_STRENGTH: f64 = 0.2;

/// How united a panel is, by the share of its leading answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Unity {
    /// Up to 40%.
    Scattered,
    /// Up to 60%.
    Divided,
    /// Up to 80%.
    Leaning,
    /// Below 100%.
    AlmostUnanimous,
    Unanimous,
}

impl Unity {
    /// `leading` of `seats` gave the leading answer. `None` without answers.
    pub fn of(leading: usize, seats: usize) -> Option<Self> {
        if seats == 0 || leading > seats {
            return None;
        }
        // In whole fifths, so that no bound depends on rounding.
        Some(match leading * 5 {
            _ if leading == seats => Self::Unanimous,
            fifths if fifths <= seats * 2 => Self::Scattered,
            fifths if fifths <= seats * 3 => Self::Divided,
            fifths if fifths <= seats * 4 => Self::Leaning,
            _ => Self::AlmostUnanimous,
        })
    }

    /// The share of rounds that changed the leading answer in the published debates.
    const fn prior(self) -> f64 {
        match self {
            Self::Scattered => 0.60,
            Self::Divided => 0.25,
            Self::Leaning => 0.15,
            Self::AlmostUnanimous => 0.04,
            Self::Unanimous => 0.005,
        }
    }
}

/// Recorded rounds of one kind of debate that began equally united.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    pub played: usize,
    /// Those after which another answer led.
    pub changed: usize,
}

/// The probability that another round changes the leading answer, with its 95% credible interval.
pub fn chance_of_change(unity: Unity, record: Rounds) -> Estimate {
    let seen: Vec<(f64, f64)> = (0..record.played)
        .map(|round| (f64::from(u8::from(round < record.changed)), 1.0))
        .collect();
    posterior(unity.prior(), PRIOR_STRENGTH, &seen)
}

/// A resolved debate's movement from one probability distribution to the next, and what it gained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Movement {
    /// Half the sum of the squared changes, over all outcomes.
    pub squared: f64,
    /// The improvement of the half Brier score.
    pub gain: f64,
}

impl Movement {
    /// `None` if the distributions differ in length or the outcome is not among them.
    pub fn of(before: &[f64], after: &[f64], outcome: usize) -> Option<Self> {
        if before.len() != after.len() || outcome >= before.len() {
            return None;
        }
        let squared = |from: &[f64], to: &dyn Fn(usize) -> f64| -> f64 {
            let squares = from.iter().enumerate().map(|(i, p)| (p - to(i)).powi(2));
            squares.sum::<f64>() / 2.0
        };
        let truth = |i: usize| f64::from(u8::from(i == outcome));
        Some(Self {
            squared: squared(before, &|i| after[i]),
            gain: squared(before, &truth) - squared(after, &truth),
        })
    }
}

/// What movement is worth: 1 if all of it was information, 0 if it was worth nothing, −1 if all of it was noise. Shrunk towards
/// 0 while little has resolved.
pub fn efficiency(movements: &[Movement]) -> f64 {
    let gain: f64 = movements.iter().map(|movement| movement.gain).sum();
    let squared: f64 = movements.iter().map(|movement| movement.squared).sum();
    // An empty sum is −0; adding 0 makes it 0.
    gain / (squared + EFFICIENCY_STRENGTH) + 0.0
}

/// The expected squared movement of the next round after one of `last`.
pub fn next_movement(last: f64) -> f64 {
    PERSISTENCE * last
}

/// What the user wants to be worth paying for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Threshold {
    /// The lowest chance of a change for which another round is played.
    pub min_chance: f64,
    /// What a right answer is worth, in the currency of the prices.
    pub worth: Option<f64>,
}

impl Default for Threshold {
    fn default() -> Self {
        Self {
            min_chance: MIN_CHANCE,
            worth: None,
        }
    }
}

/// Whether another round is worth its price. `price` is `None` if unknown; then only the chance counts.
pub fn is_worth_playing(
    chance: f64,
    efficiency: f64,
    price: Option<f64>,
    threshold: &Threshold,
) -> bool {
    let pays = match (threshold.worth, price) {
        (Some(worth), Some(price)) => chance * worth * efficiency.max(0.0) >= price,
        _ => true,
    };
    chance >= threshold.min_chance && pays
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
