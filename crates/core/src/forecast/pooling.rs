//! Pooling the roles' distributions into one: judge and consensus (F-08), and a log-odds pool weighted by accuracy.

use super::distribution::Distribution;
use crate::bounded::Probability;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    #[error("no distribution to pool")]
    Empty,
    #[error("the distributions have different numbers of outcomes")]
    DifferentOutcomes,
    #[error("weights must be finite and not negative, and at least one must be above 0")]
    Weights,
}

/// Every outcome's plain mean over the roles.
pub fn mean(roles: &[&Distribution]) -> Result<Distribution, PoolError> {
    let outcomes = common_outcomes(roles)?;
    let sums = (0..outcomes).map(|outcome| {
        let column = roles.iter().filter_map(|role| role.get(outcome));
        column.sum::<f64>()
    });
    Ok(Distribution::rescaled(sums.collect()))
}

/// `weight`·judge + (1 − `weight`)·consensus (F-08).
pub fn judged(
    judge: &Distribution,
    consensus: &Distribution,
    weight: Probability,
) -> Result<Distribution, PoolError> {
    common_outcomes(&[judge, consensus])?;
    let weight = weight.value();
    let pairs = judge.values().iter().zip(consensus.values());
    let mixed = pairs.map(|(judge, consensus)| weight * judge + (1.0 - weight) * consensus);
    Ok(Distribution::rescaled(mixed.collect()))
}

/// Floor for a probability: a single 0 would veto an outcome whatever the other roles say.
const MIN_PROBABILITY: f64 = 0.001;

/// The weighted mean of the log-odds: p ∝ Π pᵢ^wᵢ with Σw = 1. For two outcomes this is the mean of ln(p/(1−p)).
///
/// Unlike the mean of probabilities, log-odds let a confident role move the pool. The result is not extremised.
pub fn log_odds_pool(roles: &[(&Distribution, f64)]) -> Result<Distribution, PoolError> {
    let distributions: Vec<_> = roles.iter().map(|(role, _)| *role).collect();
    let outcomes = common_outcomes(&distributions)?;
    let total: f64 = roles.iter().map(|(_, weight)| weight).sum();
    let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
    if !roles.iter().all(|(_, weight)| is_weight(*weight)) || total <= 0.0 {
        return Err(PoolError::Weights);
    }
    let logs: Vec<f64> = (0..outcomes)
        .map(|outcome| {
            let parts = roles.iter().map(|(role, weight)| {
                let value = role.get(outcome).unwrap_or_default().max(MIN_PROBABILITY);
                weight / total * value.ln()
            });
            parts.sum()
        })
        .collect();
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers = logs.iter().map(|log| (log - greatest).exp()).collect();
    Ok(Distribution::rescaled(powers))
}

pub(super) fn common_outcomes(roles: &[&Distribution]) -> Result<usize, PoolError> {
    let outcomes = roles.first().ok_or(PoolError::Empty)?.outcomes();
    if roles.iter().all(|role| role.outcomes() == outcomes) {
        Ok(outcomes)
    } else {
        Err(PoolError::DifferentOutcomes)
    }
}

#[cfg(test)]
#[path = "pooling_tests.rs"]
mod tests;
