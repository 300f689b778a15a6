//! Numbers with a range that is enforced by their constructors, also when deserialized.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{found} is not a {what}: it must be a number from {low} to {high}")]
pub struct OutOfRange {
    what: &'static str,
    found: f64,
    low: f64,
    high: f64,
}

fn within(what: &'static str, found: f64, low: f64, high: f64) -> Result<f64, OutOfRange> {
    // Rejects NaN too: no range contains it.
    if (low..=high).contains(&found) {
        // Not -0.0.
        Ok(found + 0.0)
    } else {
        Err(OutOfRange {
            what,
            found,
            low,
            high,
        })
    }
}

/// A probability from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

/// A stated confidence from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(f64);

/// A quality score from 1 to 10; fractions are allowed.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Score(f64);

/// A council judge's score from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct OutOfHundred(f64);

/// A critic's adjustment of a confidence, from −0.2 to +0.1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Adjustment(f64);

macro_rules! bounded {
    ($type:ident, $name:literal, $low:literal, $high:literal) => {
        impl $type {
            pub fn new(value: f64) -> Result<Self, OutOfRange> {
                within($name, value, $low, $high).map(Self)
            }

            pub const fn value(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $type {
            type Error = OutOfRange;

            fn try_from(value: f64) -> Result<Self, OutOfRange> {
                Self::new(value)
            }
        }

        impl From<$type> for f64 {
            fn from(bounded: $type) -> f64 {
                bounded.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "number", "minimum": $low, "maximum": $high })
            }
        }
    };
}

bounded!(Probability, "probability", 0.0, 1.0);
bounded!(Confidence, "confidence", 0.0, 1.0);
bounded!(Score, "score", 1.0, 10.0);
bounded!(OutOfHundred, "score out of a hundred", 0.0, 100.0);
bounded!(Adjustment, "adjustment of a confidence", -0.2, 0.1);

impl OutOfHundred {
    /// The displayed value: rounded to an integer, half up.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 100 by construction"
    )]
    pub fn shown(self) -> u8 {
        self.0.round() as u8
    }
}

impl Probability {
    /// For constants; values above 100 are clamped.
    pub const fn percent(percent: u8) -> Self {
        Self(if percent < 100 {
            percent as f64 / 100.0
        } else {
            1.0
        })
    }
}

/// A whole number from 1 to 10: a mark out of ten, given by a person or a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "u8")]
pub struct OutOfTen(u8);

impl OutOfTen {
    pub fn new(value: u8) -> Result<Self, OutOfRange> {
        Self::try_from(f64::from(value))
    }

    pub const fn value(self) -> u8 {
        self.0
    }
}

impl TryFrom<f64> for OutOfTen {
    type Error = OutOfRange;

    /// Rounds, because models answer `8.0` or `7.5` when asked for a whole number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked first"
    )]
    fn try_from(value: f64) -> Result<Self, OutOfRange> {
        within("mark out of ten", value, 1.0, 10.0).map(|value| Self(value.round() as u8))
    }
}

impl From<OutOfTen> for u8 {
    fn from(mark: OutOfTen) -> u8 {
        mark.0
    }
}

impl fmt::Display for OutOfTen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for OutOfTen {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "out_of_ten".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": 10 })
    }
}

#[cfg(test)]
#[path = "bounded_tests.rs"]
mod tests;
