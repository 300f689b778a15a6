//! Scoring rules for forecasts with a known outcome: Brier and logarithmic score. Lower is better in both.

use super::distribution::Distribution;

/// Floor for the logarithmic score, which would be infinite for a forecast of 0.
pub const MIN_PROBABILITY: f64 = 1e-6;

/// Half the sum of the squared errors over all outcomes: from 0 (certain and right) to 1 (certain and wrong). With two
/// outcomes it is (p − o)². `None` for an outcome that is not in the distribution.
pub fn brier(forecast: &Distribution, happened: usize) -> Option<f64> {
    forecast.get(happened)?;
    let errors = forecast
        .values()
        .iter()
        .enumerate()
        .map(|(outcome, value)| {
            let truth = if outcome == happened { 1.0 } else { 0.0 };
            (value - truth).powi(2)
        });
    Some(errors.sum::<f64>() / 2.0)
}

/// −ln p of the actual outcome.
pub fn log_score(forecast: &Distribution, happened: usize) -> Option<f64> {
    let probability = forecast.get(happened)?;
    // Adding zero turns the -0.0 of a certain and right forecast into 0.0.
    Some(-probability.max(MIN_PROBABILITY).ln() + 0.0)
}

#[cfg(test)]
#[path = "scoring_tests.rs"]
mod tests;
