//! Scoring arguments by a rubric of weighted criteria (F-05, F-06).

use serde::{Deserialize, Serialize};

/// An argument below this score is rewritten.
pub const WEAK: f64 = 0.2;
/// Arguments above this score count towards the required 80%.
pub const GOOD: f64 = 0.4;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    pub name: String,
    /// Its share of the composite.
    pub weight: f64,
}

/// The criteria of a debate; their weights sum to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criteria(Vec<Criterion>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CriteriaError {
    #[error("at least one scoring criterion is required")]
    Empty,
    #[error("the criterion '{name}' is given twice")]
    Twice { name: String },
    #[error("the criterion '{name}' has no weight")]
    NoWeight { name: String },
    #[error("weights must be finite and not negative, and at least one must be above 0")]
    Weights,
}

const STANDARD: [(&str, f64); 3] = [
    ("logical_strength", 0.4),
    ("evidence_quality", 0.4),
    ("novelty", 0.2),
];

impl Criteria {
    pub fn standard() -> Self {
        let criteria = STANDARD.map(|(name, weight)| Criterion {
            name: name.to_owned(),
            weight,
        });
        Self(criteria.into())
    }

    /// The three standard criteria weigh 0.4, 0.4 and 0.2; in any other selection the weights are equal.
    pub fn named(names: &[String]) -> Result<Self, CriteriaError> {
        let is_standard = names.len() == STANDARD.len()
            && STANDARD
                .iter()
                .all(|(standard, _)| names.iter().any(|name| name == standard));
        let weight_of = |name: &str| {
            let known = STANDARD.iter().find(|(standard, _)| *standard == name);
            known.map_or(1.0, |(_, weight)| if is_standard { *weight } else { 1.0 })
        };
        let weighted = names.iter().map(|name| (name.clone(), weight_of(name)));
        Self::weighted(weighted.collect())
    }

    pub fn weighted(criteria: Vec<(String, f64)>) -> Result<Self, CriteriaError> {
        if criteria.is_empty() {
            return Err(CriteriaError::Empty);
        }
        for (index, (name, weight)) in criteria.iter().enumerate() {
            if criteria[..index].iter().any(|(other, _)| other == name) {
                return Err(CriteriaError::Twice { name: name.clone() });
            }
            if !weight.is_finite() || *weight < 0.0 {
                return Err(CriteriaError::Weights);
            }
        }
        let total: f64 = criteria.iter().map(|(_, weight)| weight).sum();
        if total <= 0.0 {
            return Err(CriteriaError::Weights);
        }
        let scaled = criteria.into_iter().map(|(name, weight)| Criterion {
            name,
            weight: weight / total,
        });
        Ok(Self(scaled.collect()))
    }

    pub fn all(&self) -> &[Criterion] {
        &self.0
    }

    pub fn names(&self) -> Vec<String> {
        let criteria = self.0.iter();
        criteria.map(|criterion| criterion.name.clone()).collect()
    }
}

/// The weighted mean. `None` if a criterion has no score: missing scores are never filled in.
pub fn composite(criteria: &Criteria, score: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let parts = criteria
        .all()
        .iter()
        .map(|criterion| score(&criterion.name).map(|score| criterion.weight * score));
    let sum: Option<f64> = parts.sum();
    // Rounded because it is compared with thresholds: a mean of 0.4s must be 0.4 despite binary fractions.
    sum.map(|sum| (sum * 1e12).round() / 1e12)
}

#[cfg(test)]
#[path = "rubric_tests.rs"]
mod tests;
