//! How far the roles agree (F-09): 1 − σ/σmax for each outcome, with the population standard deviation.

use super::distribution::Distribution;
use crate::spread::{deviation, mean, real};

/// The largest population standard deviation that `n` numbers from 0 to 1 can have.
///
/// The variance is convex in each number, so it is greatest with every number at an end. With k of them at 1 it is
/// k(n−k)/n², which is greatest for k = ⌊n/2⌋: ½ for an even n, a little less for an odd one (√6/5 for five).
pub fn largest_spread(n: usize) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let low = n / 2;
    real(low * (n - low)).sqrt() / real(n)
}

/// How far the roles agree on one outcome, from 0 (as far apart as possible) to 1 (all the same).
fn agreement(probabilities: &[f64]) -> f64 {
    let largest = largest_spread(probabilities.len());
    match deviation(probabilities) {
        Some(deviation) if largest > 0.0 => (1.0 - deviation / largest).clamp(0.0, 1.0),
        _ => 1.0,
    }
}

/// The agreement on every outcome, in the order of the outcomes. Empty with fewer than two roles: one cannot agree or disagree.
pub fn outcome_agreement(roles: &[&Distribution]) -> Vec<f64> {
    if roles.len() < 2 {
        return Vec::new();
    }
    let outcomes = roles.iter().map(|role| role.outcomes()).min().unwrap_or(0);
    (0..outcomes)
        .map(|outcome| {
            let column: Vec<f64> = roles.iter().filter_map(|role| role.get(outcome)).collect();
            agreement(&column)
        })
        .collect()
}

/// The mean over the outcomes. `None` with fewer than two roles.
pub fn mean_agreement(roles: &[&Distribution]) -> Option<f64> {
    mean(&outcome_agreement(roles))
}

#[cfg(test)]
#[path = "consensus_tests.rs"]
mod tests;
