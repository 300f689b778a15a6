//! A council's consensus on one dimension (T-05): the mean of the scores, each weighted by its judge's confidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::{Confidence, OutOfHundred};
use crate::spread::mean;

/// One judge's score on one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Vote {
    pub judge: String,
    pub score: OutOfHundred,
    /// `None` if the judge stated no readable confidence; never replaced by a default.
    pub confidence: Option<Confidence>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Several judges, weighted by confidence.
    Weighted,
    /// One judge, whose score is used as it is.
    Single,
    /// Several judges, all with confidence 0, so all have equal weight.
    PlainMean,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Consensus {
    pub score: OutOfHundred,
    pub basis: Basis,
    /// The unweighted mean of the stated confidences; weighting them by themselves would favor overconfident judges.
    pub confidence: Confidence,
    /// Judges whose score is excluded because they stated no confidence.
    pub excluded: Vec<String>,
}

/// `None` if no judge gave both a score and a confidence.
pub fn consensus(votes: &[Vote]) -> Option<Consensus> {
    let excluded = votes
        .iter()
        .filter(|vote| vote.confidence.is_none())
        .map(|vote| vote.judge.clone())
        .collect();
    let counted: Vec<(f64, f64)> = votes
        .iter()
        .filter_map(|vote| Some((vote.score.value(), vote.confidence?.value())))
        .collect();
    let (scores, confidences): (Vec<f64>, Vec<f64>) = counted.iter().copied().unzip();
    let sum_of_confidences: f64 = confidences.iter().sum();
    let (score, basis) = match scores.as_slice() {
        [score] => (*score, Basis::Single),
        _ if sum_of_confidences > 0.0 => {
            let weighted = counted.iter().map(|(score, confidence)| score * confidence);
            let score = weighted.sum::<f64>() / sum_of_confidences;
            (score, Basis::Weighted)
        }
        _ => (mean(&scores)?, Basis::PlainMean),
    };
    // Clamped, because rounding noise could push a mean out of range.
    Some(Consensus {
        score: OutOfHundred::new(score.clamp(0.0, 100.0)).ok()?,
        basis,
        confidence: Confidence::new(mean(&confidences)?.clamp(0.0, 1.0)).ok()?,
        excluded,
    })
}

#[cfg(test)]
#[path = "consensus_tests.rs"]
mod tests;
