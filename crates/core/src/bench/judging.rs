//! How far a judge's grades can be trusted: its agreement with grades that a person gave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spread::real;
use crate::statistics::{Interval, wilson};

/// Right, partly right, wrong.
const MARKS: usize = 3;

/// A judge's agreement with a person on the same answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    pub answers: usize,
    /// The share of answers with the same mark: right, partly right or wrong.
    pub share: f64,
    /// 95%, Wilson's.
    pub interval: Interval,
    /// Cohen's kappa: 0 for the agreement of two who guess, 1 for full agreement. `None` if both gave everything the same mark.
    pub kappa: Option<f64>,
}

/// The mark of a credit from 0 to 1.
fn mark(credit: f64) -> usize {
    if credit >= 0.75 {
        2
    } else {
        usize::from(credit > 0.25)
    }
}

impl Agreement {
    /// `pairs`: the credit by the judge and by the person. `None` without any.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let count = pairs.len();
        if count == 0 {
            return None;
        }
        let marks = pairs
            .iter()
            .map(|(judge, person)| (mark(*judge), mark(*person)));
        let marks: Vec<(usize, usize)> = marks.collect();
        let same = marks
            .iter()
            .filter(|(judge, person)| judge == person)
            .count();
        let share = real(same) / real(count);
        let by_chance: f64 = (0..MARKS)
            .map(|own| {
                let judge = marks.iter().filter(|(judge, _)| *judge == own).count();
                let person = marks.iter().filter(|(_, person)| *person == own).count();
                real(judge) * real(person) / (real(count) * real(count))
            })
            .sum();
        Some(Self {
            answers: count,
            share,
            interval: wilson(same, count),
            kappa: (by_chance < 1.0 - 1e-12).then(|| (share - by_chance) / (1.0 - by_chance)),
        })
    }
}

#[cfg(test)]
#[path = "judging_tests.rs"]
mod tests;
