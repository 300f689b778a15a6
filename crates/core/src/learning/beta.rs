//! Estimating a share from few cases: the posterior of a Beta prior with its 95% credible interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A share between 0 and 1 with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    pub mean: f64,
    /// Lower end of the 95% credible interval.
    pub low: f64,
    pub high: f64,
    /// The number of cases it is based on.
    pub cases: usize,
    /// The sum of their weights by age.
    pub effective: f64,
}

/// The posterior of a Beta prior with this mean and a weight of `strength` cases, after `seen`: shares from 0 to 1, each with its
/// weight. A share between 0 and 1 is a partial success. The mean lies between prior and data.
pub(crate) fn posterior(mean: f64, strength: f64, seen: &[(f64, f64)]) -> Estimate {
    // An empty sum is −0; adding 0 makes it 0.
    let effective = seen.iter().map(|(_, count)| count).sum::<f64>() + 0.0;
    let successes: f64 = seen.iter().map(|(share, count)| share * count).sum();
    let total = strength + effective;
    let mean = ((mean * strength + successes) / total).clamp(0.0, 1.0);
    // A mean of exactly 0 or 1 would give an invalid parameter of 0.
    let (a, b) = ((mean * total).max(1e-9), ((1.0 - mean) * total).max(1e-9));
    Estimate {
        mean,
        low: rounded(quantile(a, b, 0.025)).min(mean),
        high: rounded(quantile(a, b, 0.975)).max(mean),
        cases: seen.len(),
        effective,
    }
}

/// Logarithms differ in their last digits between platforms; stored and displayed values must not.
fn rounded(bound: f64) -> f64 {
    (bound * 1e6).round() / 1e6
}

/// By bisection, which works because the distribution function is monotonic.
fn quantile(a: f64, b: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if distribution(a, b, middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22). The fraction converges fast only
/// on one side of the mean; the other follows from symmetry.
fn distribution(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// Lentz's algorithm: evaluates the fraction from the front and stops on convergence.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let off_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / off_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    for step in 1..=300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        below = 1.0 / off_zero(1.0 + even * below);
        above = off_zero(1.0 + even / above);
        value *= above * below;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        below = 1.0 / off_zero(1.0 + odd * below);
        above = off_zero(1.0 + odd / above);
        let change = above * below;
        value *= change;
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

/// Stirling's series, after shifting the argument to where four terms give full precision.
fn ln_gamma(x: f64) -> f64 {
    let mut shift = 0.0;
    let mut x = x;
    while x < 12.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

#[cfg(test)]
#[path = "beta_tests.rs"]
mod tests;
