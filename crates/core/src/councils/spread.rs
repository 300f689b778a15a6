//! How far judges are apart on one dimension, and what follows from it (T-06). Disagreement is a finding, not noise: it is kept
//! beside the average and never averaged away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::OutOfHundred;

/// All scores within so many points: high-confidence consensus. Exactly so many is within.
const UNANIMOUS: f64 = 10.0;
/// More than so many points apart: a disagreement. Exactly so many is none.
const DISAGREEMENT: f64 = 20.0;
/// More than so many points apart: the critic must answer it.
const SEVERE: f64 = 30.0;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// All within 10 points.
    HighConfidence,
    /// Between the two: nothing to remark.
    Ordinary,
    /// More than 20 points apart.
    Disagreement,
    /// More than 30 points apart.
    SevereDisagreement,
}

impl Agreement {
    fn at(points: f64) -> Self {
        if points <= UNANIMOUS {
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

/// On the judges' own scores, whether or not they stated a confidence. One judge alone agrees with nobody: `None`.
pub fn spread<'a>(scores: impl IntoIterator<Item = (&'a str, OutOfHundred)>) -> Option<Spread> {
    let mut scores: Vec<_> = scores.into_iter().collect();
    // Stable: of equal scores the first judge named stays first.
    scores.sort_by(|a, b| a.1.value().total_cmp(&b.1.value()));
    let [(low_judge, low), .., (high_judge, high)] = scores.as_slice() else {
        return None;
    };
    let points = apart(*low, *high);
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

/// The distance between two scores. 70.1 and 50.1 are exactly 20 apart, whatever binary fractions make of it.
pub(super) fn apart(one: OutOfHundred, other: OutOfHundred) -> f64 {
    ((one.value() - other.value()).abs() * 1e6).round() / 1e6
}

/// Whether two judges disagree.
pub(super) fn disagree(one: OutOfHundred, other: OutOfHundred) -> bool {
    Agreement::at(apart(one, other)).is_disagreement()
}

#[cfg(test)]
#[path = "spread_tests.rs"]
mod tests;
