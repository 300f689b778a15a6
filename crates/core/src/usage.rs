//! Token usage and cost. Sums are exact because money is an integer number of picodollars.

use std::borrow::Cow;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Tokens of one or many calls. `cached` is the part of `input` that the provider read from its prompt cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

impl Usage {
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Add::add)
    }
}

/// An amount in US dollars, never negative, held as whole picodollars so that sums do not drift.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(u64);

const PICO: f64 = 1e12;

impl Money {
    pub const ZERO: Self = Self(0);

    /// `None` for amounts that are negative, not a number, or beyond about eighteen million dollars.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on the line before"
    )]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let picos = (dollars * PICO).round();
        (0.0..1.8e19).contains(&picos).then_some(Self(picos as u64))
    }

    /// Subtraction that stops at zero.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "display and JSON need dollars, not picodollars"
    )]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICO
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl JsonSchema for Money {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "dollars".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "description": "US dollars" })
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::from_dollars(dollars).ok_or_else(|| {
            serde::de::Error::custom("an amount of money must be a number from 0 to 18 million")
        })
    }
}

/// The price of a model, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Input read from the prompt cache; defaults to the price of input.
    #[serde(default)]
    pub cached: Option<f64>,
}

impl Price {
    /// A model that runs on the user's own machine.
    pub const FREE: Self = Self {
        input: 0.0,
        output: 0.0,
        cached: Some(0.0),
    };

    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts stay far below 2^53"
    )]
    pub fn of(&self, usage: Usage) -> Money {
        let cached = usage.cached.min(usage.input);
        let dollars = (usage.input - cached) as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        Money::from_dollars(dollars / 1e6).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
