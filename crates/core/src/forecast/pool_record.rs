//! The results that the learned pool would have had on recorded questions, compared with simple pools (B-09).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;
use super::learned_pool::{LearnedPool, Seat};
use super::pooling::{PoolError, log_odds_pool, mean};
use super::scoring::{brier, log_score};
use crate::random::SplitMix64;
use crate::spread::{self, real};
use crate::statistics::{Interval, bootstrap_ratios};

/// A resolved question with the forecasts of its panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub id: String,
    pub domain: Option<String>,
    /// Questions of one cluster share their outcome's causes; by default each is its own.
    pub cluster: String,
    pub forecasts: Vec<(Seat, Distribution)>,
    /// When the last of them was made, in milliseconds since 1970.
    pub forecast_at: i64,
    pub resolved_at: i64,
    pub outcome: usize,
}

impl Question {
    fn seats(&self) -> Vec<(&Seat, &Distribution)> {
        let forecasts = self.forecasts.iter();
        forecasts.map(|(seat, own)| (seat, own)).collect()
    }
}

/// One question as each pool would have forecast it.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolResult {
    pub question: usize,
    pub learned: Distribution,
    pub mean: Distribution,
    pub median: Distribution,
    pub log_odds_mean: Distribution,
}

/// The mean scores of one pool. Lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    pub brier: f64,
    pub log: f64,
}

/// A simple pool and what the learned one gains over it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    pub pool: &'static str,
    pub score: Score,
    /// The Brier score of the learned pool minus that of this one; negative is better.
    pub difference: f64,
    /// By cluster; 95%.
    pub interval: Option<Interval>,
}

/// Pools every question with what had resolved before its last forecast. Returns the results in order of forecast, and the
/// state after all questions have resolved.
///
/// # Errors
/// [`PoolError`] for a question whose forecasts cannot be pooled.
pub fn live(questions: &[Question]) -> Result<(Vec<PoolResult>, LearnedPool), PoolError> {
    let by = |key: fn(&Question) -> i64| {
        let mut order: Vec<usize> = (0..questions.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&questions[a], &questions[b]);
            key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
        });
        order
    };
    let resolved = by(|question| question.resolved_at);
    let mut waiting = resolved.iter().peekable();
    let mut pool = LearnedPool::default();
    let mut results = Vec::with_capacity(questions.len());
    for index in by(|question| question.forecast_at) {
        let now = questions[index].forecast_at;
        while let Some(&known) = waiting.next_if(|&&known| questions[known].resolved_at < now) {
            learn(&mut pool, &questions[known])?;
        }
        results.push(pooled(&pool, questions, index)?);
    }
    for &index in waiting {
        learn(&mut pool, &questions[index])?;
    }
    Ok((results, pool))
}

/// The pool as learned from the questions that resolved before a moment.
///
/// # Errors
/// [`PoolError`] for a question whose forecasts cannot be pooled.
pub fn learned(questions: &[Question], before: i64) -> Result<LearnedPool, PoolError> {
    let mut known: Vec<&Question> = questions
        .iter()
        .filter(|question| question.resolved_at < before)
        .collect();
    known.sort_by_key(|question| (question.resolved_at, &question.id));
    let mut pool = LearnedPool::default();
    for question in known {
        learn(&mut pool, question)?;
    }
    Ok(pool)
}

/// The change by one outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct LearningStep {
    /// The index of the question.
    pub question: usize,
    /// The pooled forecast before the outcome was known.
    pub said: Distribution,
    pub factor: Change,
    /// The skill of every seat that answered.
    pub skills: Vec<(Seat, Change)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    pub before: f64,
    pub after: f64,
}

/// Every outcome in the order in which it became known, with what was learned from it. Without one of the questions, all
/// later steps are as if it had never been there.
///
/// # Errors
/// [`PoolError`] for a question whose forecasts cannot be pooled.
pub fn history(questions: &[Question]) -> Result<Vec<LearningStep>, PoolError> {
    let mut order: Vec<usize> = (0..questions.len()).collect();
    order.sort_by_key(|&index| (questions[index].resolved_at, &questions[index].id));
    let mut pool = LearnedPool::default();
    let mut steps = Vec::with_capacity(order.len());
    for index in order {
        let question = &questions[index];
        let (seats, domain) = (question.seats(), question.domain.as_deref());
        let state = |pool: &LearnedPool| -> (f64, Vec<f64>) {
            let weights = pool.weights(seats.iter().map(|(seat, _)| *seat), domain);
            let skills = weights.iter().map(|weight| weight.skill);
            (pool.factor(), skills.collect())
        };
        let said = pool.pool(&seats, domain)?;
        let before = state(&pool);
        learn(&mut pool, question)?;
        let after = state(&pool);
        let skills = seats.iter().zip(before.1.iter().zip(&after.1));
        steps.push(LearningStep {
            question: index,
            said,
            factor: Change {
                before: before.0,
                after: after.0,
            },
            skills: skills
                .map(|((seat, _), (before, after))| {
                    let (before, after) = (*before, *after);
                    ((*seat).clone(), Change { before, after })
                })
                .collect(),
        });
    }
    Ok(steps)
}

/// How to divide questions without dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossFit {
    /// How often the clusters are divided at random.
    pub halves: usize,
}

/// Learns from one half of the clusters and pools the other, several times. All results, one list per division.
///
/// # Errors
/// [`PoolError`] for a question whose forecasts cannot be pooled.
pub fn cross_fit(
    questions: &[Question],
    plan: CrossFit,
) -> Result<Vec<Vec<PoolResult>>, PoolError> {
    let mut clusters: Vec<&str> = questions
        .iter()
        .map(|question| question.cluster.as_str())
        .collect();
    clusters.sort_unstable();
    clusters.dedup();
    let mut order: Vec<usize> = (0..questions.len()).collect();
    order.sort_by_key(|&index| (questions[index].resolved_at, &questions[index].id));
    let mut all = Vec::with_capacity(plan.halves);
    for half in 0..plan.halves {
        SplitMix64::stream(1, half as u64).shuffle(&mut clusters);
        let (known, _) = clusters.split_at(clusters.len() / 2);
        let mut known = known.to_vec();
        known.sort_unstable();
        let is_known = |index: &&usize| {
            let cluster = questions[**index].cluster.as_str();
            known.binary_search(&cluster).is_ok()
        };
        let mut pool = LearnedPool::default();
        for &index in order.iter().filter(is_known) {
            learn(&mut pool, &questions[index])?;
        }
        let others = order.iter().filter(|index| !is_known(index));
        let results: Result<Vec<_>, _> = others
            .map(|&index| pooled(&pool, questions, index))
            .collect();
        all.push(results?);
    }
    Ok(all)
}

fn learn(pool: &mut LearnedPool, question: &Question) -> Result<(), PoolError> {
    pool.resolve(
        &question.seats(),
        question.domain.as_deref(),
        question.outcome,
    )
}

fn pooled(
    pool: &LearnedPool,
    questions: &[Question],
    index: usize,
) -> Result<PoolResult, PoolError> {
    let question = &questions[index];
    let seats = question.seats();
    let forecasts: Vec<&Distribution> = seats.iter().map(|(_, forecast)| *forecast).collect();
    let equal: Vec<(&Distribution, f64)> = forecasts.iter().map(|one| (*one, 1.0)).collect();
    Ok(PoolResult {
        question: index,
        learned: pool.pool(&seats, question.domain.as_deref())?,
        mean: mean(&forecasts)?,
        median: median(&forecasts),
        log_odds_mean: log_odds_pool(&equal)?,
    })
}

/// The median of each outcome, scaled to 1.
fn median(forecasts: &[&Distribution]) -> Distribution {
    let outcomes = forecasts.first().map_or(0, |one| one.outcomes());
    let medians = (0..outcomes).map(|outcome| {
        let column = forecasts.iter().filter_map(|one| one.get(outcome));
        spread::Spread::of(column).map_or(0.0, |spread| spread.median)
    });
    let medians: Vec<f64> = medians.collect();
    Distribution::normalised(&medians)
        .unwrap_or_else(|_| Distribution::rescaled(vec![1.0; outcomes]))
}

/// The name of a simple pool, and its result.
type Simple = (&'static str, fn(&PoolResult) -> &Distribution);

const SIMPLE: [Simple; 3] = [
    ("mean", |result| &result.mean),
    ("median", |result| &result.median),
    ("log-odds mean", |result| &result.log_odds_mean),
];

impl PoolResult {
    /// The mean scores of the learned pool; `None` without results.
    pub fn score(results: &[Self], questions: &[Question]) -> Option<Score> {
        score(results, questions, |result| &result.learned)
    }

    /// The learned pool against each simple one.
    pub fn comparisons(results: &[Self], questions: &[Question]) -> Vec<Comparison> {
        const POOLS: usize = SIMPLE.len();
        let mut clusters: BTreeMap<&str, ([f64; POOLS], f64)> = BTreeMap::new();
        for result in results {
            let question = &questions[result.question];
            let (sums, count) = clusters.entry(&question.cluster).or_default();
            let Some(own) = brier(&result.learned, question.outcome) else {
                return Vec::new();
            };
            for (sum, (_, simple)) in sums.iter_mut().zip(SIMPLE) {
                // Pools of one question have the same outcomes.
                *sum += own - brier(simple(result), question.outcome).unwrap_or(own);
            }
            *count += 1.0;
        }
        let clusters: Vec<([f64; POOLS], f64)> = clusters.into_values().collect();
        let intervals = bootstrap_ratios(&clusters);
        let count: f64 = clusters.iter().map(|(_, count)| count).sum();
        let pools = SIMPLE.into_iter().enumerate();
        let comparisons = pools.filter_map(|(index, (name, simple))| {
            let sum: f64 = clusters.iter().map(|(sums, _)| sums[index]).sum();
            Some(Comparison {
                pool: name,
                score: score(results, questions, simple)?,
                difference: sum / count,
                interval: intervals.map(|intervals| intervals[index]),
            })
        });
        comparisons.collect()
    }
}

fn score(
    results: &[PoolResult],
    questions: &[Question],
    of: impl Fn(&PoolResult) -> &Distribution,
) -> Option<Score> {
    let mut total = Score {
        brier: 0.0,
        log: 0.0,
    };
    for result in results {
        let outcome = questions[result.question].outcome;
        total.brier += brier(of(result), outcome)?;
        total.log += log_score(of(result), outcome)?;
    }
    let count = real(results.len());
    (count > 0.0).then(|| Score {
        brier: total.brier / count,
        log: total.log / count,
    })
}

#[cfg(test)]
#[path = "pool_record_tests.rs"]
mod tests;
