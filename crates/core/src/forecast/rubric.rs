//! What an argument is worth by the rubric (F-05, F-06).

use serde::{Deserialize, Serialize};

/// An argument under this is written again.
pub const WEAK: f64 = 0.2;
/// Arguments above this count towards the bar of 80%.
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
    #[error("there is no criterion to score by")]
    Empty,
    #[error("the criterion '{name}' is given twice")]
    Twice { name: String },
    #[error("there is no weight for the criterion '{name}'")]
    NoWeight { name: String },
    #[error("a weight must be a number that is not negative, and one must be above 0")]
    Weights,
}

const STANDARD: [(&str, f64); 3] = [
    ("logical_strength", 0.4),
    ("evidence_quality", 0.4),
    ("novelty", 0.2),
];

impl Criteria {
    pub fn standard() -> Self {
        Self(
            STANDARD
                .iter()
                .map(|(name, weight)| Criterion {
                    name: (*name).to_owned(),
                    weight: *weight,
                })
                .collect(),
        )
    }

    /// The three of the rubric count 0.4, 0.4 and 0.2; any other selection counts equally.
    pub fn named(names: &[String]) -> Result<Self, CriteriaError> {
        let is_standard = names.len() == STANDARD.len()
            && STANDARD
                .iter()
                .all(|(name, _)| names.iter().any(|it| it == name));
        let weight_of = |name: &str| {
            let known = STANDARD.iter().find(|(it, _)| *it == name);
            known.filter(|_| is_standard).map_or(1.0, |(_, it)| *it)
        };
        let weighted: Vec<_> = names
            .iter()
            .map(|name| (name.clone(), weight_of(name)))
            .collect();
        Self::weighted(weighted)
    }

    pub fn weighted(criteria: Vec<(String, f64)>) -> Result<Self, CriteriaError> {
        if criteria.is_empty() {
            return Err(CriteriaError::Empty);
        }
        for (place, (name, weight)) in criteria.iter().enumerate() {
            if criteria[..place].iter().any(|(other, _)| other == name) {
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
        self.0.iter().map(|it| it.name.clone()).collect()
    }
}

/// The weighted mean. `None` where a criterion has no score: a missing one is never filled in.
pub fn composite(criteria: &Criteria, score: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let parts = criteria
        .all()
        .iter()
        .map(|it| score(&it.name).map(|score| it.weight * score));
    let sum: Option<f64> = parts.sum();
    // A mean of 0.4s is 0.4, whatever binary fractions make of it: thresholds are compared with it.
    sum.map(|sum| (sum * 1e12).round() / 1e12)
}

#[cfg(test)]
#[path = "rubric_tests.rs"]
mod tests;
