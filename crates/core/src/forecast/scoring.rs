//! How good a forecast was, once it is known what happened. Lower is better in both.

use super::distribution::Distribution;

/// A forecast of 0 for what happened would score infinitely badly; below this it no longer gets worse.
pub const LEAST_PROBABILITY: f64 = 1e-6;

/// Half the sum of the squared errors over all outcomes: from 0 (sure and right) to 1 (sure and wrong). With two outcomes it
/// is the familiar (p − o)². `None` for an outcome that is not in the distribution.
pub fn brier(forecast: &Distribution, happened: usize) -> Option<f64> {
    forecast.get(happened)?;
    let errors = forecast.values().iter().enumerate().map(|(place, value)| {
        let truth = if place == happened { 1.0 } else { 0.0 };
        (value - truth).powi(2)
    });
    Some(errors.sum::<f64>() / 2.0)
}

/// −ln p of what happened.
pub fn log_score(forecast: &Distribution, happened: usize) -> Option<f64> {
    let probability = forecast.get(happened)?;
    // Adding zero turns the -0.0 of a sure and right forecast into 0.0.
    Some(-probability.max(LEAST_PROBABILITY).ln() + 0.0)
}

#[cfg(test)]
#[path = "scoring_tests.rs"]
mod tests;
