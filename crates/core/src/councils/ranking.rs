//! Several things judged, each on its own, in order; and which of the differences the judges' own spread makes worth believing.
//!
//! The uncertainty of an overall score is that of a weighted sum of means: how much judges of the same thing differ, on average
//! over all dimensions that several judged, over the number of judges of each component. The spread is pooled because two or
//! three judges who happen to agree on one dimension say little about how well they measure; a component of one judge borrows it
//! for the same reason. Judges who share a model err alike, so the true uncertainty is larger, never smaller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::OutOfHundred;

/// About nineteen of twenty: a difference is believed from two standard errors on.
const STANDARD_ERRORS: f64 = 2.0;

/// The judges' scores on one dimension, and its share in the overall score (0 for one that is no component).
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub share: f64,
    pub scores: Vec<OutOfHundred>,
}

/// The standard error of an overall score. `None` where no dimension has two judges: then nothing is known of it.
#[expect(
    clippy::cast_precision_loss,
    reason = "judges of a council are counted in tens"
)]
pub fn uncertainty(dimensions: &[Measured]) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for dimension in dimensions.iter().filter(|it| it.scores.len() > 1) {
        let count = dimension.scores.len() as f64;
        let values = || dimension.scores.iter().map(|score| score.value());
        let mean = values().sum::<f64>() / count;
        squares += values().map(|value| (value - mean).powi(2)).sum::<f64>();
        freedom += count - 1.0;
    }
    if freedom == 0.0 {
        return None;
    }
    let variance = squares / freedom;
    let of_sum: f64 = dimensions
        .iter()
        .filter(|it| !it.scores.is_empty())
        .map(|it| it.share.powi(2) * variance / it.scores.len() as f64)
        .sum();
    Some(of_sum.sqrt())
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// The highest score first.
    pub places: Vec<Place>,
    /// Every two of them, in that order.
    pub pairs: Vec<Pair>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    pub name: String,
    pub score: OutOfHundred,
    /// One standard error of the score, from the judges' spread.
    pub uncertainty: Option<f64>,
    /// The places it may have if only believable differences count.
    pub best: usize,
    pub worst: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    pub higher: String,
    pub lower: String,
    pub difference: f64,
    /// What the difference would have to exceed.
    pub needed: Option<f64>,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Believable,
    /// The judges' own spread is enough to explain it.
    NotWorthBelieving,
    /// There is no spread to measure it by.
    Unknown,
}

/// From names, scores and standard errors. Equal scores keep the order in which they were given.
pub fn rank(given: Vec<(String, OutOfHundred, Option<f64>)>) -> Ranking {
    let mut sorted = given;
    sorted.sort_by(|a, b| b.1.value().total_cmp(&a.1.value()));
    let mut places: Vec<Place> = sorted
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
        let better = is_beaten[index].iter().filter(|it| **it).count();
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
