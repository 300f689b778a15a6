//! Whether things that were said to be 70% likely happen seven times in ten.

use serde::Serialize;

use crate::bounded::Probability;

/// Forecasts of about the same probability, and how often they came true.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bin {
    /// From this probability on …
    pub from: f64,
    /// … to below this one; the last bin includes 1.
    pub to: f64,
    pub count: usize,
    /// `None` in an empty bin, like the two that follow.
    pub mean_forecast: Option<f64>,
    pub observed: Option<f64>,
    pub interval: Option<Interval>,
}

/// Where the true frequency lies, with 95% confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The forecasts in `bins` equal steps from 0 to 1.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "forecasts are counted in thousands, and a probability times the number of bins is a small positive number"
)]
pub fn reliability(forecasts: &[(Probability, bool)], bins: usize) -> Vec<Bin> {
    let place = |forecast: &Probability| {
        let step = (forecast.value() * bins as f64).floor() as usize;
        step.min(bins.saturating_sub(1))
    };
    (0..bins)
        .map(|bin| {
            let here: Vec<_> = forecasts.iter().filter(|it| place(&it.0) == bin).collect();
            let count = here.len();
            let hits = here.iter().filter(|it| it.1).count();
            let sum: f64 = here.iter().map(|it| it.0.value()).sum();
            let share = |part: f64| (count > 0).then(|| part / count as f64);
            Bin {
                from: bin as f64 / bins as f64,
                to: (bin + 1) as f64 / bins as f64,
                count,
                mean_forecast: share(sum),
                observed: share(hits as f64),
                interval: (count > 0).then(|| wilson(hits, count)),
            }
        })
        .collect()
}

/// Wilson's score interval: unlike the plain normal one it stays within 0 and 1 and makes sense for few cases.
#[expect(
    clippy::cast_precision_loss,
    reason = "forecasts are counted in thousands"
)]
fn wilson(hits: usize, count: usize) -> Interval {
    const Z: f64 = 1.959_963_984_540_054;
    let n = count as f64;
    let share = hits as f64 / n;
    let scale = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Interval {
        low: (middle - half).max(0.0),
        high: (middle + half).min(1.0),
    }
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
