//! The overall score from its components (T-01), its tier, and the confidence in it (T-10).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::{Adjustment, Confidence, OutOfHundred};

#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    pub dimension: String,
    /// As configured in the cast: 25 for 25%.
    pub weight: f64,
    pub score: Option<OutOfHundred>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overall {
    pub score: OutOfHundred,
    /// The displayed score, without decimals.
    pub shown: u8,
    pub components: Vec<Part>,
    /// Components without a score. Their weight is distributed among the others; no default score is used.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    pub dimension: String,
    /// As configured in the cast.
    pub weight: f64,
    /// The share in the overall score, from 0 to 1.
    pub share: f64,
    pub score: OutOfHundred,
}

/// `None` if no component has a score, or the weights of those that have one sum to zero.
pub fn overall(components: &[Component]) -> Option<Overall> {
    let present: Vec<(&Component, OutOfHundred)> = components
        .iter()
        .filter_map(|component| Some((component, component.score?)))
        .collect();
    let sum: f64 = present.iter().map(|(component, _)| component.weight).sum();
    if sum <= 0.0 {
        return None;
    }
    let parts: Vec<Part> = present
        .into_iter()
        .map(|(component, score)| Part {
            dimension: component.dimension.clone(),
            weight: component.weight,
            share: component.weight / sum,
            score,
        })
        .collect();
    let score: f64 = parts
        .iter()
        .map(|part| part.share * part.score.value())
        .sum();
    let score = OutOfHundred::new(score.clamp(0.0, 100.0)).ok()?;
    Some(Overall {
        score,
        shown: score.shown(),
        components: parts,
        left_out: components
            .iter()
            .filter(|component| component.score.is_none())
            .map(|component| component.dimension.clone())
            .collect(),
    })
}

/// The lowest of the consensus confidences, adjusted by the critic. `None` without any consensus.
pub fn overall_confidence(
    confidences: impl IntoIterator<Item = Confidence>,
    adjustment: Option<Adjustment>,
) -> Option<Confidence> {
    let lowest = confidences
        .into_iter()
        .map(Confidence::value)
        .min_by(f64::total_cmp)?;
    let adjusted = lowest + adjustment.map_or(0.0, Adjustment::value);
    // Rounded to thousandths, so that 0.9 − 0.2 equals 0.7.
    let rounded = (adjusted * 1000.0).round() / 1000.0;
    Confidence::new(rounded.clamp(0.0, 1.0)).ok()
}

/// A name for the scores from `from` up to the next tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    pub from: u8,
    pub name: String,
}

/// At least one tier, the first from 0, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Tier>", into = "Vec<Tier>")]
pub struct Tiers(Vec<Tier>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TierError {
    #[error("the first tier must start at 0")]
    NoneFromZero,
    #[error("tiers must rise: '{second}' does not start above '{first}'")]
    NotRising { first: String, second: String },
    #[error("tier '{name}' starts at {from}: the highest score is 100")]
    OutOfScale { name: String, from: u8 },
}

impl TryFrom<Vec<Tier>> for Tiers {
    type Error = TierError;

    fn try_from(tiers: Vec<Tier>) -> Result<Self, TierError> {
        if tiers.first().is_none_or(|tier| tier.from != 0) {
            return Err(TierError::NoneFromZero);
        }
        for pair in tiers.windows(2) {
            if pair[1].from <= pair[0].from {
                return Err(TierError::NotRising {
                    first: pair[0].name.clone(),
                    second: pair[1].name.clone(),
                });
            }
        }
        if let Some(tier) = tiers.iter().find(|tier| tier.from > 100) {
            return Err(TierError::OutOfScale {
                name: tier.name.clone(),
                from: tier.from,
            });
        }
        Ok(Self(tiers))
    }
}

impl Tiers {
    /// By the score itself, not by the displayed one: 20.9 is below the tier from 21.
    pub fn of(&self, score: OutOfHundred) -> &str {
        let reached = |tier: &&Tier| f64::from(tier.from) <= score.value();
        let tier = self.0.iter().rev().find(reached);
        tier.map_or("", |tier| &tier.name)
    }

    pub fn all(&self) -> &[Tier] {
        &self.0
    }
}

impl From<Tiers> for Vec<Tier> {
    fn from(tiers: Tiers) -> Self {
        tiers.0
    }
}

#[cfg(test)]
#[path = "overall_tests.rs"]
mod tests;
