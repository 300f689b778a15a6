//! Several engines' distributions as one (F-20).

use serde::Serialize;

use super::distribution::Distribution;
use crate::bounded::{Confidence, Probability};

/// The debate's weight in the ensemble.
pub const DEBATE_WEIGHT: f64 = 0.15;
/// No engine counts more than this.
pub const CAP: f64 = 0.60;
const LEAST: f64 = 0.01;
const MOST: f64 = 0.99;

/// What one engine says and how much it counts before its confidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Opinion<'a> {
    pub weight: Probability,
    pub confidence: Confidence,
    pub distribution: &'a Distribution,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Combined {
    pub distribution: Distribution,
    /// What each engine counted in the end, in the order they were given; the sum is 1.
    pub weights: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnsembleError {
    #[error("{found} engine counts for something; at least two are needed")]
    TooFew { found: usize },
    #[error("the engines are about different numbers of outcomes")]
    DifferentOutcomes,
}

/// Weight × confidence, renormalised, none above [`CAP`] (what is over goes to the others in proportion); the mixture is
/// clipped to 0.01–0.99 and renormalised. An engine of no weight or no confidence does not count as one.
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
        parts.sum::<f64>().clamp(LEAST, MOST)
    });
    Ok(Combined {
        distribution: Distribution::rescaled(clipped.collect()),
        weights,
    })
}

/// Shares of the whole, none above the cap. At most one share can be above 0.60, so one pass settles it: with at least two
/// that count, the others together have 0.40 to take up, and none of them had as much as the one that was cut.
fn capped(raw: &[f64]) -> Vec<f64> {
    let total: f64 = raw.iter().sum();
    let shares: Vec<f64> = raw.iter().map(|weight| weight / total).collect();
    let Some(over) = shares.iter().position(|share| *share > CAP) else {
        return shares;
    };
    let rest = 1.0 - shares[over];
    let share = |(place, share): (usize, &f64)| {
        if place == over {
            CAP
        } else {
            share / rest * (1.0 - CAP)
        }
    };
    shares.iter().enumerate().map(share).collect()
}

#[cfg(test)]
#[path = "ensemble_tests.rs"]
mod tests;
