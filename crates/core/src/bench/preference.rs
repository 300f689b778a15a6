//! Bradley–Terry: how strong each contestant is, from preferences between pairs.
//!
//! The odds that one beats another are the quotient of their strengths. Each pair that met begins with half a win for either, so
//! that a contestant that has won every time has a finite strength. Intervals are Wald's, from the information of the battles;
//! battles count as independent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spread::real;
use crate::statistics::{Interval, Z};

/// Half a win for either, for each pair that met.
const PRIOR: f64 = 0.5;
const MAX_STEPS: usize = 500;
const TOLERANCE: f64 = 1e-12;

/// A preference between two contestants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Battle {
    pub first: usize,
    pub second: usize,
    /// 1 if the first won, 0 if the second did, 0.5 for a tie.
    pub result: f64,
}

/// A contestant's strength against the first contestant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Strength {
    pub battles: usize,
    /// Ties count half.
    pub wins: f64,
    /// Log-odds of beating the first contestant; 0 for itself.
    pub log_odds: f64,
    /// 95%. `None` for the first contestant and for those that are not connected with it by any battle.
    pub interval: Option<Interval>,
}

/// The probability that belongs to log-odds.
pub fn win_probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// The strengths of all contestants, in their order.
pub fn strengths(contestants: usize, battles: &[Battle]) -> Vec<Strength> {
    let mut wins = vec![vec![0.0; contestants]; contestants];
    let mut own = vec![(0, 0.0); contestants];
    for battle in battles {
        let (a, b) = (battle.first, battle.second);
        if wins[a][b] + wins[b][a] == 0.0 {
            wins[a][b] += PRIOR;
            wins[b][a] += PRIOR;
        }
        wins[a][b] += battle.result;
        wins[b][a] += 1.0 - battle.result;
        own[a] = (own[a].0 + 1, own[a].1 + battle.result);
        own[b] = (own[b].0 + 1, own[b].1 + 1.0 - battle.result);
    }
    let strengths = fit(&wins);
    let first = strengths.first().copied().unwrap_or(1.0);
    let variances = variances(&wins, &strengths);
    let log_odds = strengths.iter().map(|one| (one / first).ln());
    log_odds
        .enumerate()
        .map(|(place, log_odds)| Strength {
            battles: own[place].0,
            wins: own[place].1,
            log_odds,
            interval: variances[place].map(|variance| Interval {
                low: log_odds - Z * variance.sqrt(),
                high: log_odds + Z * variance.sqrt(),
            }),
        })
        .collect()
}

/// The maximum-likelihood strengths by the usual fixed-point iteration (Hunter, 2004).
fn fit(wins: &[Vec<f64>]) -> Vec<f64> {
    let count = wins.len();
    let mut strengths = vec![1.0; count];
    for _ in 0..MAX_STEPS {
        let next: Vec<f64> = (0..count)
            .map(|own| {
                let won: f64 = wins[own].iter().sum();
                let met: f64 = (0..count)
                    .filter(|other| *other != own)
                    .map(|other| {
                        let battles = wins[own][other] + wins[other][own];
                        battles / (strengths[own] + strengths[other])
                    })
                    .sum();
                if met > 0.0 { won / met } else { strengths[own] }
            })
            .collect();
        let scale = next.iter().map(|one| one.ln()).sum::<f64>() / real(count.max(1));
        let scaled: Vec<f64> = next.iter().map(|one| one / scale.exp()).collect();
        let change = scaled.iter().zip(&strengths).map(|(a, b)| (a - b).abs());
        let change = change.fold(0.0, f64::max);
        strengths = scaled;
        if change < TOLERANCE {
            break;
        }
    }
    strengths
}

/// The variances of the log-odds against the first contestant: the diagonal of the inverse of the information matrix without the
/// first row and column.
fn variances(wins: &[Vec<f64>], strengths: &[f64]) -> Vec<Option<f64>> {
    let count = wins.len();
    let information = |one: usize, other: usize| {
        let battles = wins[one][other] + wins[other][one];
        let p = strengths[one] / (strengths[one] + strengths[other]);
        battles * p * (1.0 - p)
    };
    let matrix: Vec<Vec<f64>> = (1..count)
        .map(|row| {
            let entry = |column: usize| {
                if column == row {
                    let others = (0..count).filter(|other| *other != row);
                    others.map(|other| information(row, other)).sum()
                } else {
                    -information(row, column)
                }
            };
            (1..count).map(entry).collect()
        })
        .collect();
    let inverse = inverted(matrix);
    let variance = |place: usize| inverse.as_ref().map(|inverse| inverse[place][place]);
    std::iter::once(None)
        .chain((0..count.saturating_sub(1)).map(variance))
        .collect()
}

/// Gauss–Jordan with the largest pivot; `None` if the matrix is singular.
fn inverted(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let count = matrix.len();
    for (place, row) in matrix.iter_mut().enumerate() {
        row.extend((0..count).map(|column| f64::from(u8::from(column == place))));
    }
    for pivot in 0..count {
        let largest = (pivot..count)
            .max_by(|a, b| matrix[*a][pivot].abs().total_cmp(&matrix[*b][pivot].abs()))?;
        matrix.swap(pivot, largest);
        let value = matrix[pivot][pivot];
        if value.abs() < 1e-12 {
            return None;
        }
        let scaled: Vec<f64> = matrix[pivot].iter().map(|entry| entry / value).collect();
        for (place, row) in matrix.iter_mut().enumerate() {
            let factor = row[pivot];
            for (entry, own) in row.iter_mut().zip(&scaled) {
                *entry = if place == pivot {
                    *own
                } else {
                    *entry - factor * own
                };
            }
        }
    }
    Some(
        matrix
            .into_iter()
            .map(|row| row[count..].to_vec())
            .collect(),
    )
}

#[cfg(test)]
#[path = "preference_tests.rs"]
mod tests;
