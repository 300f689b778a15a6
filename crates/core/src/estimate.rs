//! The expected usage of a debate (B-13): its calls stage by stage, sized by its first prompts, and a range whose width comes from how far
//! earlier estimates were off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::usage::{Price, Usage};

/// The number of earlier debates that a range is based on.
pub const SAMPLE: usize = 50;
/// With fewer earlier debates the prior is used.
pub const MIN_SAMPLE: usize = 10;
/// The ratio of truth to estimate before there are enough debates: low, expected, high.
pub const PRIOR: [f64; 3] = [0.4, 1.0, 2.5];
/// The share of debates on either side of a range.
const TAIL: f64 = 0.1;

/// Time until a hosted model begins to reply, in seconds, and the tokens that it then writes per second.
const FIRST_TOKEN_SECONDS: f64 = 1.5;
const TOKENS_PER_SECOND: f64 = 60.0;

/// Calls that run at the same time. The next stage waits for all of them.
pub type Stage = Vec<PlannedCall>;

/// A call of a seat whose prompt contains this many earlier replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    pub seat: String,
    pub reads: usize,
    /// Tokens that only this prompt contains, such as a retrieved text.
    pub retrieved: u64,
}

impl PlannedCall {
    pub fn new(seat: &str, reads: usize) -> Self {
        Self {
            seat: seat.to_owned(),
            reads,
            retrieved: 0,
        }
    }
}

/// The calls of a debate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// The shortest possible course.
    pub least: Vec<Stage>,
    /// The course to expect.
    pub likely: Vec<Stage>,
}

impl Outline {
    /// For a debate that always takes the same course.
    pub fn fixed(stages: Vec<Stage>) -> Self {
        Self {
            least: stages.clone(),
            likely: stages,
        }
    }

    /// The usual course, in which the first call reads a retrieved text of this many tokens.
    #[must_use]
    pub fn retrieving(mut self, tokens: u64) -> Self {
        let first = self.likely.first_mut().and_then(|stage| stage.first_mut());
        if let Some(first) = first {
            first.retrieved = tokens;
        }
        self
    }
}

/// A seat's prompts and replies, in tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeatSize {
    /// Its prompt without replies of others.
    pub prompt: u64,
    pub max_prompt: u64,
    pub reply: u64,
    /// `None` if unknown.
    pub price: Option<Price>,
    /// Of a model on this machine, whose parallel calls share its speed. `None` for a hosted model of usual speed.
    pub tokens_per_second: Option<f64>,
}

/// The usage of a debate: estimated, or measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amounts {
    pub calls: f64,
    /// Input and output.
    pub tokens: f64,
    /// In US dollars; `null` if a price is unknown.
    pub cost: Option<f64>,
    pub seconds: f64,
}

/// The sum of all calls. Replies that a prompt contains have the size of the reader's own.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub fn amounts(stages: &[Stage], size_of: impl Fn(&str) -> SeatSize) -> Amounts {
    let mut sum = Amounts {
        cost: Some(0.0),
        ..Amounts::default()
    };
    for stage in stages {
        let (mut slowest, mut on_this_machine) = (0.0_f64, 0.0);
        for call in stage {
            let size = size_of(&call.seat);
            let read = size.reply.saturating_mul(call.reads as u64);
            let prompt = size.prompt.saturating_add(call.retrieved);
            let usage = Usage {
                input: prompt.saturating_add(read).min(size.max_prompt),
                output: size.reply,
                cached: 0,
            };
            sum.calls += 1.0;
            sum.tokens += usage.total() as f64;
            let cost = size.price.map(|price| price.of(usage).dollars());
            sum.cost = sum.cost.zip(cost).map(|(sum, cost)| sum + cost);
            let speed = size.tokens_per_second.unwrap_or(TOKENS_PER_SECOND);
            let seconds = FIRST_TOKEN_SECONDS + size.reply as f64 / speed;
            if size.tokens_per_second.is_some() {
                on_this_machine += seconds;
            } else {
                slowest = slowest.max(seconds);
            }
        }
        sum.seconds += slowest.max(on_this_machine);
    }
    sum.cost = sum.cost.map(|cost| rounded(cost, 1e6));
    sum.seconds = rounded(sum.seconds, 10.0);
    sum
}

/// An expected value and the range that contains four of five outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    pub low: f64,
    pub expected: f64,
    pub high: f64,
}

impl Range {
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn scaled(estimate: f64, [low, expected, high]: [f64; 3], unit: f64) -> Self {
        Self {
            low: (estimate * low * unit).floor() / unit,
            expected: rounded(estimate * expected, unit),
            high: (estimate * high * unit).ceil() / unit,
        }
    }
}

/// How many times as much as estimated earlier debates used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ratios {
    calls: Vec<f64>,
    tokens: Vec<f64>,
    cost: Vec<f64>,
    seconds: Vec<f64>,
}

impl Ratios {
    /// From pairs of estimate and truth. An amount that was estimated as zero or is unknown has no ratio.
    pub fn of(debates: &[(Amounts, Amounts)]) -> Self {
        let ratios = |part: fn(&Amounts) -> Option<f64>| {
            let pairs = debates.iter().filter_map(|(estimate, truth)| {
                let estimate = part(estimate).filter(|estimate| *estimate > 0.0)?;
                Some(part(truth)? / estimate)
            });
            pairs.collect()
        };
        Self {
            calls: ratios(|amounts| Some(amounts.calls)),
            tokens: ratios(|amounts| Some(amounts.tokens)),
            cost: ratios(|amounts| amounts.cost),
            seconds: ratios(|amounts| Some(amounts.seconds)),
        }
    }

    /// The number of debates that the ranges are based on; 0 if there are too few.
    pub fn debates(&self) -> usize {
        if self.calls.len() < MIN_SAMPLE {
            0
        } else {
            self.calls.len()
        }
    }
}

/// The ranges of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranges {
    pub calls: Range,
    /// Input and output.
    pub tokens: Range,
    /// In US dollars; `null` if a price is unknown.
    pub cost: Option<Range>,
    pub seconds: Range,
}

/// The estimate times the 10%, 50% and 90% quantiles of the ratios, or times [`PRIOR`] if there are fewer than [`MIN_SAMPLE`].
pub fn ranges(estimate: &Amounts, ratios: &Ratios) -> Ranges {
    Ranges {
        calls: Range::scaled(estimate.calls, quantiles(&ratios.calls), 1.0),
        tokens: Range::scaled(estimate.tokens, quantiles(&ratios.tokens), 1.0),
        cost: estimate
            .cost
            .map(|cost| Range::scaled(cost, quantiles(&ratios.cost), 1e6)),
        seconds: Range::scaled(estimate.seconds, quantiles(&ratios.seconds), 10.0),
    }
}

/// The ranks are rounded outwards, so that of `n` exchangeable debates the next one is inside with at least 80%: between the ranks
/// `i` and `j` of `n` lie `(j - i) / (n + 1)` of the next values.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank within a small sample"
)]
fn quantiles(ratios: &[f64]) -> [f64; 3] {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    if count < MIN_SAMPLE {
        return PRIOR;
    }
    let places = (count + 1) as f64;
    let low = ((places * TAIL).floor() as usize).clamp(1, count);
    let high = ((places * (1.0 - TAIL)).ceil() as usize).clamp(1, count);
    [sorted[low - 1], sorted[count / 2], sorted[high - 1]]
}

/// Whether the truth lies in each range. `None` where it is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inside {
    pub calls: bool,
    pub tokens: bool,
    pub cost: Option<bool>,
    pub seconds: bool,
}

impl Ranges {
    pub fn inside(&self, truth: &Amounts) -> Inside {
        let cost = self.cost.zip(truth.cost);
        Inside {
            calls: self.calls.contains(truth.calls),
            tokens: self.tokens.contains(truth.tokens),
            cost: cost.map(|(range, cost)| range.contains(rounded(cost, 1e6))),
            seconds: self.seconds.contains(rounded(truth.seconds, 10.0)),
        }
    }
}

fn rounded(value: f64, unit: f64) -> f64 {
    (value * unit).round() / unit
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
