//! Self-consistency at the budget of a debate: the number of samples for a question, and the value of their vote.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::SplitMix64;
use crate::spread::real;
use crate::statistics::vote_of;

/// Budgets that differ by more are not called equal.
const MAX_DIFFERENCE: f64 = 0.05;

/// The weights of tokens if prices are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Weights {
    pub input: f64,
    pub output: f64,
    pub cached: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            input: 1.0,
            output: 4.0,
            cached: 0.1,
        }
    }
}

impl Weights {
    /// `input` includes the cached tokens.
    pub fn tokens(self, input: u64, output: u64, cached: u64) -> f64 {
        let count = |tokens: u64| real(usize::try_from(tokens).unwrap_or(usize::MAX));
        let fresh = input.saturating_sub(cached);
        self.input * count(fresh) + self.output * count(output) + self.cached * count(cached)
    }
}

/// The number of samples that costs as much as a debate: a fraction of the questions gets one more than the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EqualBudget {
    /// The debate's budget divided by that of one call.
    pub ratio: f64,
    pub samples: usize,
    /// The share of the questions with one sample more.
    pub share_with_one_more: f64,
}

impl EqualBudget {
    /// At least one sample.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive count"
    )]
    pub fn of(debate: f64, one_call: f64) -> Option<Self> {
        let ratio = debate / one_call;
        (ratio.is_finite() && ratio > 0.0).then(|| {
            let whole = ratio.max(1.0).floor();
            Self {
                ratio,
                samples: whole as usize,
                share_with_one_more: ratio.max(1.0) - whole,
            }
        })
    }

    /// The samples of a question, by a hash of its id.
    pub fn samples_for(&self, question: &str) -> usize {
        let hash = question.bytes().fold(0_u64, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let drawn = SplitMix64::stream(hash, 0).below(1_000_000);
        let has_one_more = real(drawn) < self.share_with_one_more * 1e6;
        self.samples + usize::from(has_one_more)
    }

    /// The samples of the question with most of them.
    pub fn most(&self) -> usize {
        self.samples + usize::from(self.share_with_one_more > 0.0)
    }
}

/// Whether two budgets that were really spent may be called equal.
pub fn is_equal(spent: f64, reference: f64) -> bool {
    reference > 0.0 && (spent / reference - 1.0).abs() <= MAX_DIFFERENCE + 1e-12
}

/// The probability that the vote of `k` of these samples is right, over all ways to draw them. Samples without an answer do not
/// vote; ties are shared. `None` if there are fewer than `k` samples.
pub fn vote_of_samples(
    k: usize,
    samples: &[Option<String>],
    is_right: impl Fn(&str) -> bool,
) -> Option<f64> {
    if k == 0 || k > samples.len() {
        return None;
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for answer in samples.iter().flatten() {
        match counts.iter_mut().find(|(own, _)| own == answer) {
            Some((_, count)) => *count += 1,
            None => counts.push((answer, 1)),
        }
    }
    let numbers: Vec<usize> = counts.iter().map(|(_, count)| *count).collect();
    let voting: usize = numbers.iter().sum();
    let blank = samples.len() - voting;
    let mut total = 0.0;
    for missing in k.saturating_sub(voting)..=blank.min(k) {
        let ways = choose(blank, missing) * choose(voting, k - missing) / choose(samples.len(), k);
        let right: f64 = (0..counts.len())
            .filter(|place| is_right(counts[*place].0))
            .filter_map(|place| vote_of(k - missing, &numbers, place))
            .sum();
        total += ways * right;
    }
    Some(total)
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product, i| product * real(n - i) / real(i + 1))
}

#[cfg(test)]
#[path = "equal_budget_tests.rs"]
mod tests;
