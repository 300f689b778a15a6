//! How much each role has earned, from questions that have resolved: weights ∝ 1/(shrunk Brier)⁴.
//!
//! Shrunk, because unshrunk weights break on small samples: a role's score in a domain is drawn towards its score in all other
//! domains, and that towards the score of all roles, each as if ten more questions had come out at the mean.

use serde::{Deserialize, Serialize};

/// One role's forecast for one question, scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub role: String,
    pub domain: Option<String>,
    pub brier: f64,
    /// When it became known what happened, in milliseconds.
    pub known_at: u64,
}

/// What a role counts, and from how many questions that was learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Standing {
    pub role: String,
    /// Its share; all shares together are 1.
    pub weight: f64,
    /// `None` without any history.
    pub shrunk_brier: Option<f64>,
    pub questions: usize,
    pub questions_in_domain: usize,
}

const PSEUDO_QUESTIONS: f64 = 10.0;
const POWER: i32 = 4;
/// Nobody is so good that everybody else stops counting.
const BEST: f64 = 0.01;

/// The standings of these roles in a domain, from what was known `before` a moment and nothing later. Without history all
/// count the same.
pub fn standings(
    roles: &[String],
    observations: &[Observation],
    domain: Option<&str>,
    before: u64,
) -> Vec<Standing> {
    let known: Vec<&Observation> = observations
        .iter()
        .filter(|it| it.known_at < before)
        .collect();
    let overall = mean(known.iter().map(|it| it.brier));
    let mut standings: Vec<Standing> = roles
        .iter()
        .map(|role| standing(role, &known, domain, overall))
        .collect();
    let total: f64 = standings.iter().map(|it| it.weight).sum();
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
    let own = known.iter().filter(|it| it.role == role);
    // Apart from each other, so that no question counts twice.
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        own.partition(|it| domain.is_some() && it.domain.as_deref() == domain);
    let shrunk_brier = overall.map(|overall| {
        let general = shrunk(&elsewhere, overall);
        shrunk(&here, general)
    });
    Standing {
        role: role.to_owned(),
        weight: shrunk_brier.map_or(1.0, |brier| 1.0 / brier.max(BEST).powi(POWER)),
        shrunk_brier,
        questions: here.len() + elsewhere.len(),
        questions_in_domain: here.len(),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "questions are counted in thousands"
)]
fn shrunk(seen: &[&&Observation], towards: f64) -> f64 {
    let sum: f64 = seen.iter().map(|it| it.brier).sum();
    (sum + PSEUDO_QUESTIONS * towards) / (seen.len() as f64 + PSEUDO_QUESTIONS)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "questions are counted in thousands"
)]
fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

#[cfg(test)]
#[path = "learning_tests.rs"]
mod tests;
