//! Role weights learned from resolved questions: ∝ 1/(shrunk Brier)⁴.
//!
//! Scores are shrunk because raw ones are unreliable for small samples: a role's score in a domain is shrunk towards its score
//! in all other domains, and that towards the score of all roles, each with a prior of ten questions at the mean.

use serde::{Deserialize, Serialize};

use crate::spread::{mean, real};

/// One role's forecast for one question, scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub role: String,
    pub domain: Option<String>,
    pub brier: f64,
    /// When the question was resolved, in milliseconds since 1970.
    pub known_at: u64,
}

/// A role's weight and the number of questions it was learned from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Standing {
    pub role: String,
    /// All weights together are 1.
    pub weight: f64,
    /// `None` without any history.
    pub shrunk_brier: Option<f64>,
    pub questions: usize,
    pub questions_in_domain: usize,
}

const PSEUDO_QUESTIONS: f64 = 10.0;
const POWER: i32 = 4;
/// The score counts as at least this, so that a nearly perfect role does not take all the weight.
const MIN_BRIER: f64 = 0.01;

/// The standings of these roles in a domain, from questions resolved strictly `before` a moment. Without history all weights
/// are equal.
pub fn standings(
    roles: &[String],
    observations: &[Observation],
    domain: Option<&str>,
    before: u64,
) -> Vec<Standing> {
    let known: Vec<&Observation> = observations
        .iter()
        .filter(|observation| observation.known_at < before)
        .collect();
    let scores: Vec<f64> = known.iter().map(|observation| observation.brier).collect();
    let overall = mean(&scores);
    let mut standings: Vec<Standing> = roles
        .iter()
        .map(|role| standing(role, &known, domain, overall))
        .collect();
    let total: f64 = standings.iter().map(|standing| standing.weight).sum();
    for standing in &mut standings {
        standing.weight /= total;
    }
    standings
}

fn standing(
    role: &str,
    known: &[&Observation],
    domain: Option<&str>,
    overall: Option<f64>,
) -> Standing {
    let own = known.iter().filter(|observation| observation.role == role);
    // Disjoint, so that no question counts twice.
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        own.partition(|seen| domain.is_some() && seen.domain.as_deref() == domain);
    let shrunk_brier = overall.map(|overall| {
        let general = shrunk(&elsewhere, overall);
        shrunk(&here, general)
    });
    Standing {
        role: role.to_owned(),
        weight: shrunk_brier.map_or(1.0, |brier| 1.0 / brier.max(MIN_BRIER).powi(POWER)),
        shrunk_brier,
        questions: here.len() + elsewhere.len(),
        questions_in_domain: here.len(),
    }
}

fn shrunk(seen: &[&&Observation], towards: f64) -> f64 {
    let sum: f64 = seen.iter().map(|observation| observation.brier).sum();
    (sum + PSEUDO_QUESTIONS * towards) / (real(seen.len()) + PSEUDO_QUESTIONS)
}

#[cfg(test)]
#[path = "learning_tests.rs"]
mod tests;
