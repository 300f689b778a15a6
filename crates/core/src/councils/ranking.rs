//! Ranks separately judged items and decides which differences exceed the judges' own spread.
//!
//! The uncertainty of an overall score is the standard error of a weighted sum of means. The variance between judges is pooled over
//! all dimensions with several judges, because two or three judges who happen to agree on one dimension say little about their
//! precision; a component with one judge uses the pooled variance too. Judges that share a model have correlated errors, so
//! the true uncertainty is larger, never smaller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::OutOfHundred;
use crate::spread::{mean, real};

/// A difference is believable above two standard errors, a confidence level of about 95%.
const STANDARD_ERRORS: f64 = 2.0;

/// The judges' scores on one dimension and its share in the overall score (0 if it is not a component).
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub share: f64,
    pub scores: Vec<OutOfHundred>,
}

/// The standard error of an overall score. `None` if no dimension has two judges.
pub fn uncertainty(dimensions: &[Measured]) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for dimension in dimensions {
        let scores: Vec<f64> = dimension.scores.iter().map(|s| s.value()).collect();
        if let Some(mean) = mean(&scores) {
            squares += scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>();
            freedom += real(scores.len()) - 1.0;
        }
    }
    if freedom == 0.0 {
        return None;
    }
    let variance = squares / freedom;
    let of_sum: f64 = dimensions
        .iter()
        .filter(|dimension| !dimension.scores.is_empty())
        .map(|dimension| dimension.share.powi(2) * variance / real(dimension.scores.len()))
        .sum();
    Some(of_sum.sqrt())
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// The highest score first.
    pub places: Vec<Place>,
    /// All pairs of places, in that order.
    pub pairs: Vec<Pair>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    pub name: String,
    pub score: OutOfHundred,
    /// One standard error of the score, from the judges' spread.
    pub uncertainty: Option<f64>,
    /// The range of places if only believable differences count.
    pub best: usize,
    pub worst: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    pub higher: String,
    pub lower: String,
    pub difference: f64,
    /// The difference is believable above this.
    pub needed: Option<f64>,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Believable,
    /// The judges' own spread can explain the difference.
    NotWorthBelieving,
    /// The uncertainty is unknown.
    Unknown,
}

/// Ranks names by score, with standard errors. Equal scores keep their order.
pub fn rank(mut items: Vec<(String, OutOfHundred, Option<f64>)>) -> Ranking {
    items.sort_by(|a, b| b.1.value().total_cmp(&a.1.value()));
    let mut places: Vec<Place> = items
        .into_iter()
        .map(|(name, score, uncertainty)| Place {
            name,
            score,
            uncertainty,
            best: 1,
            worst: 0,
        })
        .collect();
    let count = places.len();
    let mut pairs = Vec::new();
    let mut is_beaten = vec![vec![false; count]; count];
    for higher in 0..count {
        for lower in higher + 1..count {
            let pair = compare(&places[higher], &places[lower]);
            is_beaten[lower][higher] = pair.verdict == Verdict::Believable;
            pairs.push(pair);
        }
    }
    for index in 0..count {
        let better = is_beaten[index].iter().filter(|beaten| **beaten).count();
        let worse = is_beaten.iter().filter(|row| row[index]).count();
        places[index].best = 1 + better;
        places[index].worst = count - worse;
    }
    Ranking { places, pairs }
}

fn compare(higher: &Place, lower: &Place) -> Pair {
    let difference = higher.score.value() - lower.score.value();
    let needed = higher
        .uncertainty
        .zip(lower.uncertainty)
        .map(|(one, other)| STANDARD_ERRORS * one.hypot(other));
    Pair {
        higher: higher.name.clone(),
        lower: lower.name.clone(),
        difference,
        needed,
        verdict: match needed {
            None => Verdict::Unknown,
            Some(needed) if difference > needed => Verdict::Believable,
            Some(_) => Verdict::NotWorthBelieving,
        },
    }
}

#[cfg(test)]
#[path = "ranking_tests.rs"]
mod tests;
