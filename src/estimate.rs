//! The estimated usage, cost and duration of a debate, from earlier debates of the protocol or from a rule of thumb.

use std::time::Duration;

use roundtable_core::usage::{Money, Price, Usage};
use roundtable_engine::cast::Cast;

use crate::format::{counted, grouped};
use crate::store::Totals;

/// The number of earlier debates that an estimate is based on.
pub(crate) const SAMPLE: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsageEstimate {
    usage: Usage,
    calls: u64,
    basis: Basis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// The mean of this many earlier debates.
    Earlier(usize),
    RuleOfThumb,
}

impl UsageEstimate {
    /// The mean of these debates, or a guess from the size of the cast if there are none.
    pub(crate) fn new(earlier: &[Totals], cast: &Cast) -> Self {
        let rule_of_thumb = || Self::of_calls(cast.seats.len() as u64 * 3);
        Self::of_earlier(earlier).unwrap_or_else(rule_of_thumb)
    }

    /// The mean of these debates; `None` if there are none.
    pub(crate) fn of_earlier(earlier: &[Totals]) -> Option<Self> {
        let count = earlier.len() as u64;
        let mean = |of: fn(&Totals) -> u64| earlier.iter().map(of).sum::<u64>().checked_div(count);
        Some(Self {
            usage: Usage {
                input: mean(|totals| totals.input_tokens)?,
                output: mean(|totals| totals.output_tokens)?,
                cached: mean(|totals| totals.cached_tokens)?,
            },
            calls: mean(|totals| totals.calls)?,
            basis: Basis::Earlier(earlier.len()),
        })
    }

    /// Per call, the prompt with the transcript as input and a page of output.
    pub(crate) fn of_calls(calls: u64) -> Self {
        Self {
            usage: Usage {
                input: calls * 1800,
                output: calls * 450,
                cached: 0,
            },
            calls,
            basis: Basis::RuleOfThumb,
        }
    }

    /// The same for small models, which write less.
    pub(crate) fn of_small_models(mut self) -> Self {
        if self.basis == Basis::RuleOfThumb {
            self.usage.output = self.calls * 150;
        }
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

    /// `About 9 calls, 19,000 tokens, $0.04`
    pub(crate) fn to_text(self, price: Option<&Price>) -> String {
        let basis = match self.basis {
            Basis::Earlier(1) => " (based on the last debate)",
            Basis::Earlier(_) => " (based on recent debates)",
            Basis::RuleOfThumb => "",
        };
        let (size, cost) = (self.size_text(), self.cost_text(price));
        format!("About {size}, {cost}{basis}")
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
