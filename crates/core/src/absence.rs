//! Lowers the confidence in a result when steps are missing (C-06).

use crate::bounded::{Confidence, OutOfTen};

/// The stated confidence, scaled by the share of steps that completed; unchanged if none is missing, and at least 1.
///
/// Proportional rather than a fixed penalty: one missing reply of three costs more than one of thirty.
#[expect(clippy::cast_precision_loss, reason = "a debate has tens of steps")]
pub fn lowered(stated: OutOfTen, asked: usize, missing: usize) -> OutOfTen {
    if missing == 0 || asked == 0 {
        return stated;
    }
    let share = asked.saturating_sub(missing) as f64 / asked as f64;
    let lowered = (f64::from(stated.value()) * share).floor();
    // At least one point lower, so that rounding cannot hide the missing step.
    let below = lowered.min(f64::from(stated.value()) - 1.0).max(1.0);
    OutOfTen::try_from(below).unwrap_or(stated)
}

/// Like [`lowered`] for a confidence from 0 to 1, rounded down to three decimals.
#[expect(clippy::cast_precision_loss, reason = "a debate has tens of steps")]
pub fn scaled(stated: Confidence, asked: usize, missing: usize) -> Confidence {
    if missing == 0 || asked == 0 {
        return stated;
    }
    let share = asked.saturating_sub(missing) as f64 / asked as f64;
    let scaled = (stated.value() * share * 1000.0).floor() / 1000.0;
    Confidence::new(scaled).unwrap_or(stated)
}

#[cfg(test)]
#[path = "absence_tests.rs"]
mod tests;
