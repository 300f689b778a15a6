//! The usage, cost and duration of a debate by a rule of thumb, where there is no request to estimate yet.

use std::time::Duration;

use roundtable_core::usage::{Money, Price, Usage};

use crate::format::{counted, grouped};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsageEstimate {
    usage: Usage,
    calls: u64,
}

impl UsageEstimate {
    /// Per call, the prompt with the transcript as input and a page of output.
    pub(crate) fn of_calls(calls: u64) -> Self {
        Self {
            usage: Usage {
                input: calls * 1800,
                output: calls * 450,
                cached: 0,
            },
            calls,
        }
    }

    /// The same for small models, which write less.
    pub(crate) fn of_small_models(mut self) -> Self {
        self.usage.output = self.calls * 150;
        self
    }

    /// `9 calls, 19,000 tokens`
    pub(crate) fn size_text(self) -> String {
        let tokens = grouped(rounded(self.usage.total()));
        format!("{} calls, {tokens} tokens", self.calls)
    }

    pub(crate) fn cost(self, price: &Price) -> Money {
        price.of(self.usage)
    }

    /// `$0.04`
    pub(crate) fn cost_text(self, price: Option<&Price>) -> String {
        match price.map(|price| self.cost(price)) {
            Some(Money::ZERO) => "free".to_owned(),
            Some(cost) => format!("${:.2}", cost.dollars().max(0.01)),
            None => "price unknown".to_owned(),
        }
    }
}

/// The expected duration of a debate with an embedded model on `embedded` of `seats` seats, as a sentence.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, and bounded by the number of calls"
)]
pub(crate) fn on_embedded_model(
    estimate: UsageEstimate,
    (embedded, seats): (usize, usize),
    tokens_per_second: f64,
) -> String {
    let share = embedded as f64 / seats.max(1) as f64;
    let calls = (estimate.calls as f64 * share).round().max(1.0) as u64;
    let seconds = estimate.usage.output as f64 * share / tokens_per_second;
    format!(
        "Embedded model: about {} at {} tokens/s, {}.",
        counted(usize::try_from(calls).unwrap_or(usize::MAX), "call"),
        rate(tokens_per_second),
        about(Duration::from_secs_f64(seconds.clamp(0.0, 1e6)))
    )
}

/// `9` or `0.6`
pub(crate) fn rate(tokens_per_second: f64) -> String {
    let decimals = usize::from(tokens_per_second < 1.95);
    format!("{tokens_per_second:.decimals$}")
}

fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..50 => format!("about {} s", seconds.max(1).next_multiple_of(10)),
        seconds @ 50..5_400 => {
            let minutes = (seconds + 30) / 60;
            format!(
                "about {}",
                counted(usize::try_from(minutes).unwrap_or(0), "minute")
            )
        }
        seconds => {
            let hours = (seconds + 1_800) / 3_600;
            format!(
                "about {}",
                counted(usize::try_from(hours).unwrap_or(0), "hour")
            )
        }
    }
}

/// Rounds to two significant digits, because it is an estimate.
fn rounded(number: u64) -> u64 {
    let digits = number.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(1));
    (number + unit / 2) / unit * unit
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
