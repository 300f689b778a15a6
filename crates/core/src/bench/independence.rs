//! How many independent seats a panel is worth (B-08): from how the errors of its seats go together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spread::{mean, real};
use crate::statistics::{Interval, Z};

/// The weight of the prior, in questions.
const PRIOR_QUESTIONS: f64 = 20.0;
/// With fewer questions the prior alone is used.
const MIN_QUESTIONS: usize = 5;
/// Groups that the jackknife leaves out one at a time.
const MAX_GROUPS: usize = 100;

/// Prior knowledge of a panel, before its first question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shrinkage {
    pub prior: f64,
}

impl Shrinkage {
    /// Right and wrong answers; the prior is higher for copies of one model.
    pub const fn of_choices(one_model: bool) -> Self {
        Self {
            prior: if one_model { 0.50 } else { 0.40 },
        }
    }

    /// Forecasts, whose errors share what the outcome surprised everybody with.
    pub const fn of_forecasts(one_model: bool) -> Self {
        Self {
            prior: if one_model { 0.95 } else { 0.90 },
        }
    }

    /// The correlation, moved towards the prior.
    pub fn apply(self, correlation: f64, questions: usize) -> f64 {
        let count = real(questions);
        let weighted = count * correlation + PRIOR_QUESTIONS * self.prior;
        (weighted / (count + PRIOR_QUESTIONS)).clamp(0.0, 1.0)
    }
}

/// The number of independent seats that err together as rarely as `seats` seats with this mean correlation of their errors.
pub fn effective_seats(seats: f64, correlation: f64) -> f64 {
    seats / (1.0 + (seats - 1.0) * correlation)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Independence {
    /// The mean number of seats that answered a question.
    pub seats: f64,
    /// The mean correlation of two seats' errors, as measured. `None` if only the prior is known.
    pub correlation: Option<f64>,
    /// The same, shrunk towards what is typical.
    pub shrunk: f64,
    pub effective_seats: f64,
    /// 95%, by a jackknife over clusters of questions.
    pub interval: Option<Interval>,
    pub questions: usize,
}

/// How two seats erred on the questions that both answered.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    both_asked: f64,
    first: f64,
    second: f64,
    both: f64,
}

impl Pair {
    fn plus(self, other: Self, sign: f64) -> Self {
        Self {
            both_asked: self.both_asked + sign * other.both_asked,
            first: self.first + sign * other.first,
            second: self.second + sign * other.second,
            both: self.both + sign * other.both,
        }
    }

    /// The correlation of two yes-or-no variables. `None` if one of them never varies.
    fn phi(self) -> Option<f64> {
        let n = self.both_asked;
        let variance = self.first * (n - self.first) * self.second * (n - self.second);
        (variance > 0.0).then(|| (n * self.both - self.first * self.second) / variance.sqrt())
    }
}

/// A sum over groups of questions, from which any group can be left out.
trait Sums: Clone {
    fn correlation(&self) -> Option<f64>;
    fn with(&self, group: &Self) -> Self;
    fn without(&self, group: &Self) -> Self;
}

impl Sums for Vec<Pair> {
    fn correlation(&self) -> Option<f64> {
        let all: Vec<f64> = self.iter().filter_map(|pair| pair.phi()).collect();
        mean(&all)
    }

    fn with(&self, group: &Self) -> Self {
        let pairs = self.iter().zip(group);
        pairs.map(|(all, own)| all.plus(*own, 1.0)).collect()
    }

    fn without(&self, group: &Self) -> Self {
        let pairs = self.iter().zip(group);
        pairs.map(|(all, own)| all.plus(*own, -1.0)).collect()
    }
}

/// Products of different seats' errors, and squares of errors, each as a mean over a question's seats.
impl Sums for (f64, f64) {
    fn correlation(&self) -> Option<f64> {
        (self.1 > 0.0).then(|| self.0 / self.1)
    }

    fn with(&self, group: &Self) -> Self {
        (self.0 + group.0, self.1 + group.1)
    }

    fn without(&self, group: &Self) -> Self {
        (self.0 - group.0, self.1 - group.1)
    }
}

/// The errors of each question's seats, `None` for a seat that was not asked. `is_binary`: an error is 1 or 0, otherwise it is the
/// outcome minus the probability. `groups` has the cluster of each question. `None` without questions of two seats.
pub fn independence(
    errors: &[Vec<Option<f64>>],
    groups: &[usize],
    is_binary: bool,
    shrinkage: Shrinkage,
) -> Option<Independence> {
    let counts: Vec<f64> = errors
        .iter()
        .map(|seats| real(seats.iter().flatten().count()))
        .filter(|count| *count >= 2.0)
        .collect();
    let seats = mean(&counts)?;
    let parts = MAX_GROUPS.min(groups.iter().max()? + 1);
    let (correlation, error) = if is_binary {
        jackknifed(&pair_sums(errors, groups, parts))
    } else {
        jackknifed(&product_sums(errors, groups, parts))
    };
    let correlation = correlation.filter(|_| counts.len() >= MIN_QUESTIONS);
    let shrunk = |correlation: f64| shrinkage.apply(correlation, counts.len());
    let effective = |correlation: f64| effective_seats(seats, shrunk(correlation));
    let known = correlation.map_or(shrinkage.prior, shrunk);
    Some(Independence {
        seats,
        correlation,
        shrunk: known,
        effective_seats: effective_seats(seats, known),
        interval: correlation.zip(error).map(|(centre, error)| Interval {
            low: effective(centre + Z * error),
            high: effective(centre - Z * error),
        }),
        questions: counts.len(),
    })
}

fn pair_sums(errors: &[Vec<Option<f64>>], groups: &[usize], parts: usize) -> Vec<Vec<Pair>> {
    let seats = errors.iter().map(Vec::len).max().unwrap_or(0);
    let pairs = seats * seats.saturating_sub(1) / 2;
    let mut sums = vec![vec![Pair::default(); pairs]; parts];
    for (own, group) in errors.iter().zip(groups) {
        let sums = &mut sums[group % parts];
        let mut index = 0;
        for (place, first) in own.iter().enumerate() {
            for second in &own[place + 1..] {
                if let (Some(first), Some(second)) = (first, second) {
                    let pair = &mut sums[index];
                    pair.both_asked += 1.0;
                    pair.first += first;
                    pair.second += second;
                    pair.both += first * second;
                }
                index += 1;
            }
        }
    }
    sums
}

fn product_sums(errors: &[Vec<Option<f64>>], groups: &[usize], parts: usize) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); parts];
    for (own, group) in errors.iter().zip(groups) {
        let own: Vec<f64> = own.iter().flatten().copied().collect();
        let count = real(own.len());
        if count < 2.0 {
            continue;
        }
        let sum: f64 = own.iter().sum();
        let squares: f64 = own.iter().map(|error| error * error).sum();
        let sums = &mut sums[group % parts];
        sums.0 += (sum * sum - squares) / (count * (count - 1.0));
        sums.1 += squares / count;
    }
    sums
}

/// The correlation over all groups, and its standard error.
fn jackknifed<S: Sums>(groups: &[S]) -> (Option<f64>, Option<f64>) {
    let Some((first, rest)) = groups.split_first() else {
        return (None, None);
    };
    let all = rest.iter().fold(first.clone(), |sum, own| sum.with(own));
    let left: Option<Vec<f64>> = groups
        .iter()
        .map(|group| all.without(group).correlation())
        .collect();
    let error = left.filter(|left| left.len() >= 2).and_then(|left| {
        let centre = mean(&left)?;
        let squares: f64 = left.iter().map(|value| (value - centre).powi(2)).sum();
        let count = real(left.len());
        Some((squares * (count - 1.0) / count).sqrt())
    });
    (all.correlation(), error)
}

#[cfg(test)]
#[path = "independence_tests.rs"]
mod tests;
