//! A pool of forecasts that learns whom to follow and how strongly (B-09).
//!
//! Each seat's skill is the mean difference of its Brier score to that of its panel on the same question, so hard questions
//! do no harm. How strongly skill counts (the slope) and how far the pool moves away from even odds (the factor) are learned
//! from what each combination would have said before an outcome was known. Without history the pool is the mean of the
//! log-odds.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::domain_pool::{DomainPool, Skill};
use super::pooling::{PoolError, common_outcomes};
use super::scoring::brier;
use crate::spread::{mean, real};

/// Probabilities are at least this, and at most 1 minus this with two outcomes.
const FLOOR: f64 = 0.01;
/// The number of questions that count for a skill of 0.
const PRIOR_QUESTIONS: f64 = 30.0;
/// 0 ignores skill; 160 nearly follows the best seat.
const SLOPES: [f64; 5] = [0.0, 20.0, 40.0, 80.0, 160.0];
/// With their prior, whose mean is 1.
const FACTORS: [(f64, f64); 3] = [
    (3.0 / 4.0, 4.0 / 14.0),
    (1.0, 7.0 / 14.0),
    (4.0 / 3.0, 3.0 / 14.0),
];
/// The share of the prior that returns with each outcome, so that a rule that was wrong for years can come back.
const SHARE: f64 = 0.01;

/// The author of a forecast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// For example the model.
    pub agent: String,
    /// For example the role.
    pub group: Option<String>,
}

/// A seat's part in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Weight {
    /// All weights together are 1.
    pub weight: f64,
    /// The expected difference of its Brier score to the panel's; negative is better.
    pub skill: f64,
    /// The number of resolved forecasts of the agent.
    pub questions: usize,
}

/// Everything learned from resolved questions. All of it is sums, so replaying the same questions gives the same state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearnedPool {
    agents: BTreeMap<String, Mean>,
    groups: BTreeMap<String, Mean>,
    /// Of agents, by domain.
    in_domains: BTreeMap<String, BTreeMap<String, Mean>>,
    domains: BTreeSet<String>,
    posterior: Posterior,
    questions: usize,
}

/// A mean that is shrunk towards 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn shrunk(self) -> f64 {
        self.sum / (real(self.count) + PRIOR_QUESTIONS)
    }

    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }
}

/// The probability of each slope and factor.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Posterior([[f64; FACTORS.len()]; SLOPES.len()]);

impl Default for Posterior {
    fn default() -> Self {
        Self([FACTORS.map(|(_, prior)| prior / real(SLOPES.len())); SLOPES.len()])
    }
}

impl Posterior {
    fn of_slope(&self, slope: usize) -> f64 {
        self.0[slope].iter().sum()
    }

    fn of_factor(&self, factor: usize) -> f64 {
        self.0.iter().map(|row| row[factor]).sum()
    }

    /// Normalised, with a share of the prior.
    fn renewed(mut self) -> Self {
        let total: f64 = self.0.iter().flatten().sum();
        let prior = Self::default();
        for (row, prior) in self.0.iter_mut().zip(prior.0) {
            for (value, prior) in row.iter_mut().zip(prior) {
                *value = (1.0 - SHARE) * *value / total + SHARE * prior;
            }
        }
        self
    }
}

impl LearnedPool {
    /// The pooled distribution of a question in a domain.
    pub fn pool(
        &self,
        seats: &[(&Seat, &Distribution)],
        domain: Option<&str>,
    ) -> Result<Distribution, PoolError> {
        let logs = logs(seats)?;
        let weights = self.weights(seats.iter().map(|(seat, _)| *seat), domain);
        let weights: Vec<f64> = weights.iter().map(|weight| weight.weight).collect();
        Ok(combined(&logs, &weights, self.factor()))
    }

    /// The weights of these seats in a domain.
    pub fn weights<'a>(
        &self,
        seats: impl IntoIterator<Item = &'a Seat>,
        domain: Option<&str>,
    ) -> Vec<Weight> {
        let seats: Vec<&Seat> = seats.into_iter().collect();
        let skills = self.skills(&seats, domain);
        let mut weights: Vec<Weight> = seats
            .iter()
            .zip(&skills)
            .map(|(seat, skill)| Weight {
                weight: 0.0,
                skill: *skill,
                questions: self.agents.get(&seat.agent).map_or(0, |own| own.count),
            })
            .collect();
        for (index, slope) in SLOPES.into_iter().enumerate() {
            let share = self.posterior.of_slope(index);
            for (weight, own) in weights.iter_mut().zip(weights_at(slope, &skills)) {
                weight.weight += share * own;
            }
        }
        weights
    }

    /// How far the pool moves away from even odds: 1 is the mean of the log-odds.
    pub fn factor(&self) -> f64 {
        let factors = FACTORS.iter().enumerate();
        factors
            .map(|(index, (factor, _))| self.posterior.of_factor(index) * factor)
            .sum()
    }

    /// The probability that each slope is the best, the weakest first.
    pub fn slopes(&self) -> [(f64, f64); SLOPES.len()] {
        std::array::from_fn(|index| (SLOPES[index], self.posterior.of_slope(index)))
    }

    /// The number of questions that it was learned from.
    pub fn questions(&self) -> usize {
        self.questions
    }

    /// The effects within a domain, to be stored with a forecast.
    pub fn in_domain(&self, domain: Option<&str>) -> DomainPool {
        let domain = self.known_domain(domain);
        let agents = self.agents.iter().map(|(name, own)| {
            let here = self.effect_in(domain, name);
            let skill = Skill {
                skill: own.shrunk() + here,
                forecasts: own.count,
            };
            (name.clone(), skill)
        });
        let groups = self.groups.iter().map(|(name, own)| {
            let skill = Skill {
                skill: own.shrunk(),
                forecasts: own.count,
            };
            (name.clone(), skill)
        });
        DomainPool {
            questions: self.questions,
            factor: self.factor(),
            slopes: self.slopes().to_vec(),
            agents: agents.collect(),
            groups: groups.collect(),
        }
    }

    /// Learns the outcome of a question. Questions are resolved in the order in which their outcomes became known.
    pub fn resolve(
        &mut self,
        seats: &[(&Seat, &Distribution)],
        domain: Option<&str>,
        outcome: usize,
    ) -> Result<(), PoolError> {
        let logs = logs(seats)?;
        let scores: Option<Vec<f64>> = seats
            .iter()
            .map(|(_, forecast)| brier(forecast, outcome))
            .collect();
        let scores = scores.ok_or(PoolError::DifferentOutcomes)?;
        self.learn_slope_and_factor(&logs, seats, domain, outcome);
        let panel = mean(&scores).ok_or(PoolError::Empty)?;
        if scores.len() > 1 {
            let names: Vec<&Seat> = seats.iter().map(|(seat, _)| *seat).collect();
            let skills: Vec<(f64, f64)> = names.iter().map(|seat| self.skill_of(seat)).collect();
            for ((seat, score), (agent, group)) in names.iter().zip(scores).zip(skills) {
                self.learn_skill(seat, domain, score - panel, (agent, group));
            }
        }
        if let Some(domain) = domain.filter(|domain| !self.domains.contains(*domain)) {
            self.domains.insert(domain.to_owned());
        }
        self.questions += 1;
        Ok(())
    }

    fn learn_slope_and_factor(
        &mut self,
        logs: &[Vec<f64>],
        seats: &[(&Seat, &Distribution)],
        domain: Option<&str>,
        outcome: usize,
    ) {
        let names: Vec<&Seat> = seats.iter().map(|(seat, _)| *seat).collect();
        let skills = self.skills(&names, domain);
        for (slope, row) in SLOPES.into_iter().zip(&mut self.posterior.0) {
            let sums = log_sums(logs, &weights_at(slope, &skills));
            for ((factor, _), value) in FACTORS.into_iter().zip(row) {
                *value *= share_of(&sums, factor, outcome).clamp(FLOOR, 1.0 - FLOOR);
            }
        }
        self.posterior = self.posterior.renewed();
    }

    /// `difference` is that of the Brier scores; `known` is what agent and group explain of it.
    fn learn_skill(
        &mut self,
        seat: &Seat,
        domain: Option<&str>,
        difference: f64,
        (agent, group): (f64, f64),
    ) {
        if let Some(name) = &seat.group {
            add(&mut self.groups, name, difference);
        }
        add(&mut self.agents, &seat.agent, difference - group);
        if let Some(domain) = domain {
            let own = difference - group - agent;
            if let Some(agents) = self.in_domains.get_mut(domain) {
                add(agents, &seat.agent, own);
            } else {
                let agents = self.in_domains.entry(domain.to_owned()).or_default();
                add(agents, &seat.agent, own);
            }
        }
    }

    fn skills(&self, seats: &[&Seat], domain: Option<&str>) -> Vec<f64> {
        let domain = self.known_domain(domain);
        let skills = seats.iter().map(|seat| {
            let (agent, group) = self.skill_of(seat);
            agent + group + self.effect_in(domain, &seat.agent)
        });
        skills.collect()
    }

    /// With a single domain, its effect is that of the agent.
    fn known_domain<'d>(&self, domain: Option<&'d str>) -> Option<&'d str> {
        domain.filter(|_| self.domains.len() > 1)
    }

    fn effect_in(&self, domain: Option<&str>, agent: &str) -> f64 {
        let agents = domain.and_then(|domain| self.in_domains.get(domain));
        let own = agents.and_then(|agents| agents.get(agent));
        own.map_or(0.0, |own| own.shrunk())
    }

    /// Of the agent and of the group.
    fn skill_of(&self, seat: &Seat) -> (f64, f64) {
        let shrunk = |own: Option<&Mean>| own.map_or(0.0, |own| own.shrunk());
        let group = seat.group.as_ref().and_then(|name| self.groups.get(name));
        (shrunk(self.agents.get(&seat.agent)), shrunk(group))
    }
}

pub(super) fn weights_at(slope: f64, skills: &[f64]) -> Vec<f64> {
    let best = skills.iter().copied().fold(f64::INFINITY, f64::min);
    let powers: Vec<f64> = skills
        .iter()
        .map(|skill| (-slope * (skill - best)).exp())
        .collect();
    let total: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / total).collect()
}

/// The logarithms of the probabilities, which are at least [`FLOOR`].
pub(super) fn logs(seats: &[(&Seat, &Distribution)]) -> Result<Vec<Vec<f64>>, PoolError> {
    let forecasts: Vec<&Distribution> = seats.iter().map(|(_, forecast)| *forecast).collect();
    common_outcomes(&forecasts)?;
    let logs = forecasts.iter().map(|forecast| {
        let values = floored(forecast.values());
        values.into_iter().map(f64::ln).collect()
    });
    Ok(logs.collect())
}

/// Raises small probabilities to [`FLOOR`] and scales the others so that the sum stays 1. With more than `1 / FLOOR` outcomes
/// that is impossible; then all become equal.
fn floored(values: &[f64]) -> Vec<f64> {
    let mut is_raised = vec![false; values.len()];
    loop {
        let raised = is_raised.iter().filter(|raised| **raised).count();
        let kept = values
            .iter()
            .zip(&is_raised)
            .filter(|(_, raised)| !**raised);
        let sum: f64 = kept.map(|(value, _)| value).sum();
        let free = 1.0 - real(raised) * FLOOR;
        if free <= 0.0 || sum <= 0.0 {
            return vec![1.0 / real(values.len()); values.len()];
        }
        let scaled: Vec<f64> = values
            .iter()
            .zip(&is_raised)
            .map(|(value, raised)| if *raised { FLOOR } else { value * free / sum })
            .collect();
        let mut is_done = true;
        for (raised, value) in is_raised.iter_mut().zip(&scaled) {
            if *value < FLOOR && !*raised {
                (*raised, is_done) = (true, false);
            }
        }
        if is_done {
            return scaled;
        }
    }
}

/// Copies the name only if it is new.
fn add(means: &mut BTreeMap<String, Mean>, name: &str, value: f64) {
    if let Some(own) = means.get_mut(name) {
        own.add(value);
    } else {
        means.entry(name.to_owned()).or_default().add(value);
    }
}

/// ln p ∝ factor · Σ weight · ln p of the seat.
pub(super) fn combined(logs: &[Vec<f64>], weights: &[f64], factor: f64) -> Distribution {
    let sums: Vec<f64> = log_sums(logs, weights)
        .into_iter()
        .map(|sum| factor * sum)
        .collect();
    let greatest = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Distribution::rescaled(sums.iter().map(|sum| (sum - greatest).exp()).collect())
}

/// Σ weight · ln p of the seat, for each outcome.
fn log_sums(logs: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let outcomes = logs.first().map_or(0, Vec::len);
    let sum = |outcome: usize| {
        let parts = logs.iter().zip(weights);
        parts.map(|(own, weight)| weight * own[outcome]).sum()
    };
    (0..outcomes).map(sum).collect()
}

/// The probability of one outcome in [`combined`].
fn share_of(sums: &[f64], factor: f64, outcome: usize) -> f64 {
    let greatest = sums
        .iter()
        .map(|sum| factor * sum)
        .fold(f64::NEG_INFINITY, f64::max);
    let power = |sum: &f64| (factor * sum - greatest).exp();
    let total: f64 = sums.iter().map(power).sum();
    sums.get(outcome).map_or(0.0, power) / total
}

#[cfg(test)]
#[path = "learned_pool_tests.rs"]
mod tests;
