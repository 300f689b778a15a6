//! What missing steps do to a result's confidence (C-06).

use crate::bounded::{Confidence, OutOfTen};

/// The stated confidence, scaled by the share of steps that were there. Nothing missing: unchanged; always at least 1.
///
/// A share and not a fixed fine: one absent reply of three takes more away than one of thirty.
#[expect(
    clippy::cast_precision_loss,
    reason = "steps of a debate are counted in tens"
)]
pub fn lowered(stated: OutOfTen, asked: usize, missing: usize) -> OutOfTen {
    if missing == 0 || asked == 0 {
        return stated;
    }
    let share = asked.saturating_sub(missing) as f64 / asked as f64;
    let lowered = (f64::from(stated.value()) * share).floor();
    // Rounding must not hide that something is missing.
    let below = lowered.min(f64::from(stated.value()) - 1.0).max(1.0);
    OutOfTen::try_from(below).unwrap_or(stated)
}

/// The same for a confidence from 0 to 1, which needs no rounding.
#[expect(
    clippy::cast_precision_loss,
    reason = "steps of a debate are counted in tens"
)]
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
