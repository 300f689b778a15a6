//! Calibration: how often forecasts of a given probability come true.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bounded::Probability;
use crate::spread::real;
use crate::statistics::{Interval, wilson};

/// Forecasts of about the same probability, and how often they came true.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bin {
    /// Inclusive.
    pub from: f64,
    /// Exclusive, except that the last bin includes 1.
    pub to: f64,
    pub count: usize,
    /// `None` in an empty bin, like the next two fields.
    pub mean_forecast: Option<f64>,
    pub observed: Option<f64>,
    pub interval: Option<Interval>,
}

/// The forecasts in `bins` bins of equal width from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a probability times the number of bins is a small positive number"
)]
pub fn reliability(forecasts: &[(Probability, bool)], bins: usize) -> Vec<Bin> {
    let bin_of = |forecast: &Probability| {
        let index = (forecast.value() * real(bins)).floor() as usize;
        index.min(bins.saturating_sub(1))
    };
    (0..bins)
        .map(|bin| {
            let members: Vec<_> = forecasts
                .iter()
                .filter(|(forecast, _)| bin_of(forecast) == bin)
                .collect();
            let count = members.len();
            let hits = members.iter().filter(|(_, happened)| *happened).count();
            let sum: f64 = members.iter().map(|(forecast, _)| forecast.value()).sum();
            let mean = |total: f64| (count > 0).then(|| total / real(count));
            Bin {
                from: real(bin) / real(bins),
                to: real(bin + 1) / real(bins),
                count,
                mean_forecast: mean(sum),
                observed: mean(real(hits)),
                interval: (count > 0).then(|| wilson(hits, count)),
            }
        })
        .collect()
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
