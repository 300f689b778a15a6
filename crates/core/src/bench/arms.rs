//! The figures of arms that answered the same questions.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spread::{mean, real};
use crate::statistics::{Interval, Z, clustered_error, wilson};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub id: String,
    /// Questions of one cluster are not independent of each other; by default each is its own.
    pub cluster: String,
    pub domain: Option<String>,
}

/// Tokens, cost and time of an answer; `None` if that was not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub tokens: Option<f64>,
    pub cost: Option<f64>,
    pub seconds: Option<f64>,
}

impl Spent {
    /// The sum of all; unknown if one of them is.
    pub fn sum(all: impl IntoIterator<Item = Self>) -> Self {
        let zero = Self {
            tokens: Some(0.0),
            cost: Some(0.0),
            seconds: Some(0.0),
        };
        all.into_iter().fold(zero, |sum, one| Self {
            tokens: sum.tokens.zip(one.tokens).map(|(a, b)| a + b),
            cost: sum.cost.zip(one.cost).map(|(a, b)| a + b),
            seconds: sum.seconds.zip(one.seconds).map(|(a, b)| a + b),
        })
    }

    /// This many times as much.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        let share = |value: Option<f64>| value.map(|value| value * by);
        Self {
            tokens: share(self.tokens),
            cost: share(self.cost),
            seconds: share(self.seconds),
        }
    }

    /// The mean of all.
    pub fn mean(all: &[Self]) -> Self {
        Self::sum(all.iter().copied()).scaled(1.0 / real(all.len().max(1)))
    }
}

/// The answer of an arm to one question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// 1 if right, 0 if wrong, a share if several answers tie.
    pub credit: f64,
    /// Whether there was an answer that could be graded.
    pub is_answered: bool,
    /// `(p − outcome)²`, if there was a probability.
    pub brier: Option<f64>,
    /// `−ln p` of what happened.
    pub log: Option<f64>,
    pub spent: Spent,
}

/// One way to answer, with its outcome for every question that it was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    pub name: String,
    pub outcomes: Vec<Option<Outcome>>,
}

/// The measure by which arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The share of right answers; higher is better.
    Accuracy,
    /// The mean Brier score; lower is better.
    Brier,
}

impl Measure {
    fn of(self, outcome: &Outcome) -> Option<f64> {
        match self {
            Self::Accuracy => Some(outcome.credit),
            Self::Brier => outcome.brier,
        }
    }

    /// 1 if more is better, −1 if less is.
    pub(super) const fn direction(self) -> f64 {
        match self {
            Self::Accuracy => 1.0,
            Self::Brier => -1.0,
        }
    }
}

/// The usage per right answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerRight {
    pub tokens: Option<f64>,
    pub cost: Option<f64>,
    pub seconds: Option<f64>,
    /// 95%, from the interval of the accuracy.
    pub cost_interval: Option<Interval>,
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmFigures {
    pub arm: String,
    pub questions: usize,
    pub accuracy: f64,
    /// 95%: Wilson, or with the clustered standard error.
    pub interval: Option<Interval>,
    /// The share of questions without an answer that could be graded; they count as wrong.
    pub unanswered: f64,
    pub brier: Option<f64>,
    pub brier_interval: Option<Interval>,
    pub log_score: Option<f64>,
    pub tokens_per_question: Option<f64>,
    pub cost_per_question: Option<f64>,
    pub seconds_per_question: Option<f64>,
    pub per_right: PerRight,
    /// Whether no cheaper arm is better with an interval above 0. `None` if the cost is unknown.
    pub is_on_front: Option<bool>,
}

/// The questions' clusters as numbers.
pub(super) struct Clusters {
    of: Vec<usize>,
    pub(super) count: usize,
}

impl Clusters {
    pub(super) fn of(questions: &[Question]) -> Self {
        let mut known: HashMap<&str, usize> = HashMap::new();
        let of = questions
            .iter()
            .map(|question| {
                let next = known.len();
                *known.entry(&question.cluster).or_insert(next)
            })
            .collect();
        Self {
            of,
            count: known.len(),
        }
    }

    pub(super) fn are_single(&self) -> bool {
        self.count == self.of.len()
    }

    pub(super) fn group(&self, values: impl IntoIterator<Item = (usize, f64)>) -> Vec<Vec<f64>> {
        let mut groups = vec![Vec::new(); self.count];
        for (question, value) in values {
            groups[self.of[question]].push(value);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

pub(super) fn is_whole(credit: f64) -> bool {
    credit.abs() < f64::EPSILON || (credit - 1.0).abs() < f64::EPSILON
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of credits is at most the number of questions"
)]
fn rounded(value: f64) -> usize {
    value.round() as usize
}

/// The mean of values in clusters with its interval: Wilson's for independent right and wrong answers, otherwise from the clustered
/// standard error.
fn share_with_interval(clusters: &Clusters, values: &[(usize, f64)]) -> Option<(f64, Interval)> {
    let all: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let centre = mean(&all)?;
    let by_wilson = wilson(rounded(centre * real(all.len())), all.len());
    let is_binary = all.iter().all(|value| is_whole(*value));
    let groups = clusters.group(values.iter().copied());
    let error = clustered_error(&groups).filter(|error| *error > 0.0);
    let interval = match error {
        Some(error) if !(is_binary && clusters.are_single()) => Interval {
            low: (centre - Z * error).max(0.0),
            high: (centre + Z * error).min(1.0),
        },
        _ => by_wilson,
    };
    Some((centre, interval))
}

/// The figures of every arm that answered at least one question.
pub fn figures(questions: &[Question], arms: &[Arm], measure: Measure) -> Vec<ArmFigures> {
    let clusters = Clusters::of(questions);
    let mut rows: Vec<ArmFigures> = arms
        .iter()
        .filter_map(|arm| figures_of(&clusters, arm))
        .collect();
    mark_front(&clusters, arms, &mut rows, measure);
    rows
}

fn figures_of(clusters: &Clusters, arm: &Arm) -> Option<ArmFigures> {
    let outcomes: Vec<(usize, Outcome)> = present(arm).collect();
    let count = real(outcomes.len());
    let values = |of: &dyn Fn(&Outcome) -> Option<f64>| -> Vec<(usize, f64)> {
        let known = outcomes.iter();
        known
            .filter_map(|(question, outcome)| Some((*question, of(outcome)?)))
            .collect()
    };
    let (accuracy, interval) = share_with_interval(clusters, &values(&|one| Some(one.credit)))?;
    let briers = values(&|one| one.brier);
    let brier = share_with_interval(clusters, &briers);
    let logs: Vec<f64> = values(&|one| one.log)
        .into_iter()
        .map(|(_, log)| log)
        .collect();
    let spent: Vec<Spent> = outcomes.iter().map(|(_, outcome)| outcome.spent).collect();
    let each = Spent::mean(&spent);
    let right = accuracy * count;
    let per_right = |total: Option<f64>, right: f64| {
        total
            .map(|total| total * count / right)
            .filter(|value| value.is_finite())
    };
    let unanswered = outcomes.iter().filter(|(_, one)| !one.is_answered).count();
    Some(ArmFigures {
        arm: arm.name.clone(),
        questions: outcomes.len(),
        accuracy,
        interval: Some(interval),
        unanswered: real(unanswered) / count,
        brier: brier.map(|(brier, _)| brier),
        brier_interval: brier.map(|(_, interval)| interval),
        log_score: mean(&logs),
        tokens_per_question: each.tokens,
        cost_per_question: each.cost,
        seconds_per_question: each.seconds,
        per_right: PerRight {
            tokens: per_right(each.tokens, right),
            cost: per_right(each.cost, right),
            seconds: per_right(each.seconds, right),
            cost_interval: per_right(each.cost, interval.high * count)
                .zip(per_right(each.cost, interval.low * count))
                .map(|(low, high)| Interval { low, high }),
        },
        is_on_front: None,
    })
}

fn present(arm: &Arm) -> impl Iterator<Item = (usize, Outcome)> + '_ {
    let outcomes = arm.outcomes.iter().enumerate();
    outcomes.filter_map(|(question, outcome)| Some((question, (*outcome)?)))
}

/// The arm minus the other, on the questions that both were asked.
pub(super) fn paired(arm: &Arm, other: &Arm, measure: Measure) -> Vec<(usize, f64, f64)> {
    let pairs = arm.outcomes.iter().zip(&other.outcomes).enumerate();
    pairs
        .filter_map(|(question, (one, two))| {
            let (one, two) = (one.as_ref()?, two.as_ref()?);
            Some((question, measure.of(one)?, measure.of(two)?))
        })
        .collect()
}

/// An arm is dominated only if a cheaper one is better with a paired interval above 0.
fn mark_front(clusters: &Clusters, arms: &[Arm], rows: &mut [ArmFigures], measure: Measure) {
    let named = |name: &str| arms.iter().find(|arm| arm.name == name);
    let costs: Vec<(String, Option<f64>)> = rows
        .iter()
        .map(|row| {
            let cost = row.cost_per_question.or(row.tokens_per_question);
            (row.arm.clone(), cost)
        })
        .collect();
    for (row, (_, cost)) in rows.iter_mut().zip(&costs) {
        let (Some(cost), Some(arm)) = (cost, named(&row.arm)) else {
            continue;
        };
        let is_dominated = costs.iter().any(|(other, other_cost)| {
            let Some(other) = named(other).filter(|_| other_cost.is_some_and(|one| one < *cost))
            else {
                return false;
            };
            let pairs = paired(other, arm, measure);
            let differences = pairs
                .iter()
                .map(|(question, a, b)| (*question, measure.direction() * (a - b)));
            let groups = clusters.group(differences);
            let all: Vec<f64> = groups.iter().flatten().copied().collect();
            match (mean(&all), clustered_error(&groups)) {
                (Some(centre), Some(error)) => centre - Z * error > 0.0,
                _ => false,
            }
        });
        row.is_on_front = Some(!is_dominated);
    }
}

#[cfg(test)]
#[path = "arms_tests.rs"]
mod tests;
