//! The estimated usage and cost of a debate, from earlier debates of the protocol or from a rule of thumb.

use roundtable_core::usage::{Money, Price, Usage};
use roundtable_engine::cast::Cast;

use crate::format::grouped;
use crate::store::Totals;

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
        let count = earlier.len() as u64;
        if count == 0 {
            return Self::of_calls(cast.seats.len() as u64 * 3);
        }
        let mean = |of: fn(&Totals) -> u64| earlier.iter().map(of).sum::<u64>() / count;
        Self {
            usage: Usage {
                input: mean(|totals| totals.input_tokens),
                output: mean(|totals| totals.output_tokens),
                cached: mean(|totals| totals.cached_tokens),
            },
            calls: mean(|totals| totals.calls),
            basis: Basis::Earlier(earlier.len()),
        }
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

/// Rounds to two significant digits, because it is an estimate.
fn rounded(number: u64) -> u64 {
    let digits = number.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(1));
    (number + unit / 2) / unit * unit
}
