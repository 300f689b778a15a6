//! The overall score from its components (T-01), the tier it falls into, and how far it can be relied on (T-10).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::{Adjustment, Confidence, OutOfHundred};

/// A component with the score that was found for it, if any.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    pub dimension: String,
    /// As the cast has it: 25 for 25%.
    pub weight: f64,
    pub score: Option<OutOfHundred>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overall {
    pub score: OutOfHundred,
    /// The score without decimals, as people are shown it.
    pub shown: u8,
    pub components: Vec<Part>,
    /// Components without a score. The others take their weight; nothing stands in for them.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    pub dimension: String,
    /// As the cast has it.
    pub weight: f64,
    /// The share it has in this score, from 0 to 1.
    pub share: f64,
    pub score: OutOfHundred,
}

/// `None` where no component has a score, or none of those that have one counts.
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
    let score: f64 = parts.iter().map(|it| it.share * it.score.value()).sum();
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

/// The lowest of the consensus confidences, adjusted by the critic. `None` where there is no consensus at all.
pub fn overall_confidence(
    confidences: impl IntoIterator<Item = Confidence>,
    adjustment: Option<Adjustment>,
) -> Option<Confidence> {
    let lowest = confidences
        .into_iter()
        .map(Confidence::value)
        .min_by(f64::total_cmp)?;
    let adjusted = lowest + adjustment.map_or(0.0, Adjustment::value);
    // Whole thousandths: 0.9 − 0.2 is 0.7.
    let rounded = (adjusted * 1000.0).round() / 1000.0;
    Confidence::new(rounded.clamp(0.0, 1.0)).ok()
}

/// A name for a range of scores, from here to the next tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    pub from: u8,
    pub name: String,
}

/// At least one, the first from 0, each beginning above the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Tier>", into = "Vec<Tier>")]
pub struct Tiers(Vec<Tier>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TierError {
    #[error("the first tier must begin at 0")]
    NoneFromZero,
    #[error("tiers must rise: '{second}' does not begin above '{first}'")]
    NotRising { first: String, second: String },
    #[error("tier '{name}' begins at {from}: scores end at 100")]
    OutOfScale { name: String, from: u8 },
}

impl Tiers {
    pub fn new(tiers: Vec<Tier>) -> Result<Self, TierError> {
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

    /// By the score as it is shown: a 20.6 that reads as 21 is in the tier that begins at 21.
    pub fn of(&self, score: OutOfHundred) -> &str {
        let within = self.0.iter().rev().find(|it| it.from <= score.shown());
        within.map_or("", |tier| &tier.name)
    }

    pub fn all(&self) -> &[Tier] {
        &self.0
    }
}

impl TryFrom<Vec<Tier>> for Tiers {
    type Error = TierError;

    fn try_from(tiers: Vec<Tier>) -> Result<Self, TierError> {
        Self::new(tiers)
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
