//! The estimate that a debate is started with (B-13). This module is below [`event`](crate::event); [`estimate`](crate::estimate)
//! makes and compares estimates.

use roundtable_core::estimate::{Amounts, Ranges};
use roundtable_core::format::grouped;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::depth::Depth;

/// The journal key of the estimate.
pub const KEY: &str = "estimate";

/// The expected usage of a debate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    pub depth: Depth,
    #[serde(flatten)]
    pub ranges: Ranges,
    /// The shortest possible course.
    pub least: Amounts,
    /// The estimate that the ranges are multiples of.
    pub uncalibrated: Amounts,
    /// The number of earlier debates that the width of the ranges comes from; 0 while there are too few.
    pub debates: usize,
}

impl Estimate {
    /// `8 to 12 calls, 6,000 to 21,000 tokens, $0.02 to $0.09, 20 to 90 s`
    pub fn to_text(&self) -> String {
        let Ranges {
            calls,
            tokens,
            cost,
            seconds,
        } = &self.ranges;
        let span = |low: String, high: String| {
            if low == high {
                low
            } else {
                format!("{low} to {high}")
            }
        };
        let calls = span(whole(calls.low), whole(calls.high));
        let tokens = span(whole(tokens.low), whole(tokens.high));
        let cost = match cost {
            Some(cost) if cost.high == 0.0 => "free".to_owned(),
            Some(cost) => span(dollars(cost.low), dollars(cost.high)),
            None => "price unknown".to_owned(),
        };
        let seconds = span(whole(seconds.low), whole(seconds.high));
        format!("{calls} calls, {tokens} tokens, {cost}, {seconds} s")
    }

    /// The basis of the width of the ranges.
    pub fn basis(&self) -> String {
        match self.debates {
            0 => "too few earlier debates of this kind: from 0.4 to 2.5 times the usual course"
                .into(),
            count => format!("4 of 5 of the last {count} debates of this kind lay within"),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an amount, shown without its fraction"
)]
pub(crate) fn whole(value: f64) -> String {
    grouped(value.round().max(0.0) as u64)
}

pub(crate) fn dollars(value: f64) -> String {
    let decimals = if value < 0.1 { 4 } else { 2 };
    format!("${value:.decimals$}")
}
