//! Anonymous summary of a panel's numbers: median, quartiles, mean and standard deviation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The five-number summary shown to an anonymous panel (M-02).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    pub lowest: f64,
    pub lower_quartile: f64,
    pub median: f64,
    pub upper_quartile: f64,
    pub highest: f64,
}

impl Spread {
    /// Ignores values that are not finite; `None` if no value is left.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values
            .into_iter()
            .filter(|value| value.is_finite())
            .collect();
        sorted.sort_by(f64::total_cmp);
        let (lowest, highest) = (*sorted.first()?, *sorted.last()?);
        Some(Self {
            lowest,
            lower_quartile: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            upper_quartile: quantile(&sorted, 0.75),
            highest,
        })
    }
}

/// Linear interpolation between the two nearest ranks, as in spreadsheets and most statistics packages.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank lies within the panel, which has few seats"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = share * (sorted.len().saturating_sub(1)) as f64;
    let below = sorted[rank.floor() as usize];
    let above = sorted[rank.ceil() as usize];
    below + (above - below) * rank.fract()
}

/// A count as a real number.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub fn real(count: usize) -> f64 {
    count as f64
}

pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / real(values.len()))
}

/// The mean and the population variance, because the panel is the whole population and not a sample.
pub fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / real(values.len())))
}

/// Population standard deviation.
pub fn deviation(values: &[f64]) -> Option<f64> {
    mean_and_variance(values).map(|(_, variance)| variance.sqrt())
}

#[cfg(test)]
#[path = "spread_tests.rs"]
mod tests;
