//! An ensemble of several forecasting engines (F-20).

use serde::Serialize;

use super::distribution::Distribution;
use crate::bounded::{Confidence, Probability};

/// The debate's weight in the ensemble.
pub const DEBATE_WEIGHT: f64 = 0.15;
/// The largest share of one engine.
pub const MAX_WEIGHT: f64 = 0.60;
const MIN_PROBABILITY: f64 = 0.01;
const MAX_PROBABILITY: f64 = 0.99;

/// One engine's distribution and its weight before the confidence is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Opinion<'a> {
    pub weight: Probability,
    pub confidence: Confidence,
    pub distribution: &'a Distribution,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Combined {
    pub distribution: Distribution,
    /// The final weight of each engine, in the order given; the sum is 1.
    pub weights: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnsembleError {
    #[error(
        "an ensemble needs at least two engines with a weight and a confidence above 0; found {found}"
    )]
    TooFew { found: usize },
    #[error("the engines have different numbers of outcomes")]
    DifferentOutcomes,
}

/// Weight × confidence, renormalised, none above [`MAX_WEIGHT`] (the excess goes to the others in proportion); the mixture is clipped
/// to 0.01–0.99 and renormalised. An engine with weight or confidence 0 is ignored.
pub fn combine(engines: &[Opinion<'_>]) -> Result<Combined, EnsembleError> {
    let raw: Vec<f64> = engines
        .iter()
        .map(|engine| engine.weight.value() * engine.confidence.value())
        .collect();
    let found = raw.iter().filter(|weight| **weight > 0.0).count();
    if found < 2 {
        return Err(EnsembleError::TooFew { found });
    }
    let outcomes = engines[0].distribution.outcomes();
    if engines
        .iter()
        .any(|engine| engine.distribution.outcomes() != outcomes)
    {
        return Err(EnsembleError::DifferentOutcomes);
    }
    let weights = capped(&raw);
    let clipped = (0..outcomes).map(|outcome| {
        let parts = engines
            .iter()
            .zip(&weights)
            .map(|(engine, weight)| weight * engine.distribution.get(outcome).unwrap_or_default());
        parts.sum::<f64>().clamp(MIN_PROBABILITY, MAX_PROBABILITY)
    });
    Ok(Combined {
        distribution: Distribution::rescaled(clipped.collect()),
        weights,
    })
}

/// Shares of the total, none above the cap. One pass is enough: at most one share can exceed 0.60, and the others share the
/// remaining 0.40.
fn capped(raw: &[f64]) -> Vec<f64> {
    let total: f64 = raw.iter().sum();
    let shares: Vec<f64> = raw.iter().map(|weight| weight / total).collect();
    let Some(over) = shares.iter().position(|share| *share > MAX_WEIGHT) else {
        return shares;
    };
    let rest = 1.0 - shares[over];
    let share = |(index, share): (usize, &f64)| {
        if index == over {
            MAX_WEIGHT
        } else {
            share / rest * (1.0 - MAX_WEIGHT)
        }
    };
    shares.iter().enumerate().map(share).collect()
}

#[cfg(test)]
#[path = "ensemble_tests.rs"]
mod tests;
