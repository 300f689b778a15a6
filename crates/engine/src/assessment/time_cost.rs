//! Lost time, written as text with a number: `3 additional days`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The text as given, and its value in working days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TimeCost {
    text: String,
    days: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid time '{text}': expected a number of hours, days or weeks, such as '3 days'")]
pub struct TimeCostError {
    text: String,
}

const HOURS_IN_A_DAY: f64 = 8.0;
pub(super) const DAYS_IN_A_WEEK: f64 = 5.0;

impl TimeCost {
    pub fn new(text: &str) -> Result<Self, TimeCostError> {
        let invalid = || TimeCostError {
            text: text.to_owned(),
        };
        let text = text.trim();
        let digits = text
            .find(|c: char| c.is_ascii_digit())
            .ok_or_else(invalid)?;
        let rest = &text[digits..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, words) = rest.split_at(end.unwrap_or(rest.len()));
        let number: f64 = number
            .trim_end_matches('.')
            .parse()
            .map_err(|_| invalid())?;
        let mut units = words
            .split(|c: char| !c.is_alphabetic())
            .filter_map(in_days);
        let days = number * units.next().ok_or_else(invalid)?;
        // Negative would be time saved, which is not a cost.
        if text[..digits].contains('-') || !days.is_finite() {
            return Err(invalid());
        }
        Ok(Self {
            text: text.to_owned(),
            days,
        })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// In working days: 8 hours a day, 5 days a week.
    pub const fn days(&self) -> f64 {
        self.days
    }
}

fn in_days(unit: &str) -> Option<f64> {
    match unit.to_lowercase().as_str() {
        "h" | "hour" | "hours" => Some(1.0 / HOURS_IN_A_DAY),
        "d" | "day" | "days" => Some(1.0),
        "w" | "week" | "weeks" => Some(DAYS_IN_A_WEEK),
        _ => None,
    }
}

impl TryFrom<String> for TimeCost {
    type Error = TimeCostError;

    fn try_from(text: String) -> Result<Self, TimeCostError> {
        Self::new(&text)
    }
}

impl From<TimeCost> for String {
    fn from(cost: TimeCost) -> Self {
        cost.text
    }
}
