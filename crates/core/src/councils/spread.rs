//! Disagreement of judges on one dimension (T-06). Disagreement is a finding, not noise: it is reported next to the mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::OutOfHundred;

/// Largest spread, inclusive, of a high-confidence consensus.
const HIGH_CONFIDENCE: f64 = 10.0;
/// Larger spreads are a disagreement.
const DISAGREEMENT: f64 = 20.0;
/// Larger spreads are a severe disagreement, which the critic must address.
const SEVERE: f64 = 30.0;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// All within 10 points.
    HighConfidence,
    /// More than 10 and at most 20 points apart.
    Ordinary,
    /// More than 20 points apart.
    Disagreement,
    /// More than 30 points apart.
    SevereDisagreement,
}

impl Agreement {
    fn at(points: f64) -> Self {
        if points <= HIGH_CONFIDENCE {
            Self::HighConfidence
        } else if points <= DISAGREEMENT {
            Self::Ordinary
        } else if points <= SEVERE {
            Self::Disagreement
        } else {
            Self::SevereDisagreement
        }
    }

    pub const fn is_disagreement(self) -> bool {
        match self {
            Self::HighConfidence | Self::Ordinary => false,
            Self::Disagreement | Self::SevereDisagreement => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extreme {
    pub judge: String,
    pub score: OutOfHundred,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    pub lowest: Extreme,
    pub highest: Extreme,
    pub points: f64,
    pub agreement: Agreement,
}

/// The spread of all scores, including those without a confidence. `None` with fewer than two judges.
pub fn spread<'a>(scores: impl IntoIterator<Item = (&'a str, OutOfHundred)>) -> Option<Spread> {
    let mut scores: Vec<_> = scores.into_iter().collect();
    // A stable sort, so that ties go to the first judge.
    scores.sort_by(|a, b| a.1.value().total_cmp(&b.1.value()));
    let [(low_judge, low), .., (high_judge, high)] = scores.as_slice() else {
        return None;
    };
    let points = distance(*low, *high);
    let extreme = |judge: &str, score: OutOfHundred| Extreme {
        judge: judge.to_owned(),
        score,
    };
    Some(Spread {
        lowest: extreme(low_judge, *low),
        highest: extreme(high_judge, *high),
        points,
        agreement: Agreement::at(points),
    })
}

/// The distance between two scores, without binary rounding noise: 70.1 and 50.1 are exactly 20 apart.
pub(super) fn distance(one: OutOfHundred, other: OutOfHundred) -> f64 {
    ((one.value() - other.value()).abs() * 1e6).round() / 1e6
}

/// Whether two judges disagree.
pub(super) fn disagree(one: OutOfHundred, other: OutOfHundred) -> bool {
    Agreement::at(distance(one, other)).is_disagreement()
}

#[cfg(test)]
#[path = "spread_tests.rs"]
mod tests;
