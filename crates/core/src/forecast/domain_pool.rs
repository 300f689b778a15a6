//! The part of a [`LearnedPool`](super::LearnedPool) that is stored with one forecast (B-09): whichever seats answer,
//! their pool is the same as that of the whole state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::learned_pool::{Seat, Weight, combined, logs, weights_at};
use super::pooling::PoolError;

/// The skills of all seats in one domain, and how strongly they count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DomainPool {
    /// The number of questions that it was learned from.
    pub questions: usize,
    /// How far the pool moves away from even odds: 1 is the mean of the log-odds.
    pub factor: f64,
    /// Slopes and the probability that each is the best.
    pub slopes: Vec<(f64, f64)>,
    pub agents: BTreeMap<String, Skill>,
    pub groups: BTreeMap<String, Skill>,
}

/// The expected difference of a Brier score to that of the panel; negative is better.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Skill {
    pub skill: f64,
    /// The number of resolved forecasts.
    pub forecasts: usize,
}

impl DomainPool {
    /// The pooled distribution of the seats that answered.
    ///
    /// # Errors
    /// [`PoolError`] without forecasts, or if they have different outcomes.
    pub fn pool(&self, seats: &[(&Seat, &Distribution)]) -> Result<Distribution, PoolError> {
        let logs = logs(seats)?;
        let weights = self.weights(seats.iter().map(|(seat, _)| *seat));
        let weights: Vec<f64> = weights.iter().map(|weight| weight.weight).collect();
        Ok(combined(&logs, &weights, self.factor))
    }

    /// The weights of these seats; `questions` counts the forecasts of the group, or of the agent without one.
    pub fn weights<'a>(&self, seats: impl IntoIterator<Item = &'a Seat>) -> Vec<Weight> {
        let mut weights: Vec<Weight> = seats
            .into_iter()
            .map(|seat| self.weightless(seat))
            .collect();
        let skills: Vec<f64> = weights.iter().map(|weight| weight.skill).collect();
        for (slope, share) in &self.slopes {
            for (weight, own) in weights.iter_mut().zip(weights_at(*slope, &skills)) {
                weight.weight += share * own;
            }
        }
        weights
    }

    fn weightless(&self, seat: &Seat) -> Weight {
        let agent = self.agents.get(&seat.agent).copied().unwrap_or_default();
        let group = seat.group.as_ref().and_then(|name| self.groups.get(name));
        Weight {
            weight: 0.0,
            skill: agent.skill + group.map_or(0.0, |group| group.skill),
            questions: match &seat.group {
                Some(_) => group.map_or(0, |group| group.forecasts),
                None => agent.forecasts,
            },
        }
    }
}
