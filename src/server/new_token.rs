//! Creates and changes tokens: for the command line, the API and the page.

use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ownership::DAY_MS;
use super::tokens;
use crate::clock;
use crate::failure::Fault;
use crate::store::{Reach, Scope, TokenLimits, TokenRow};

/// A token to be created.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewToken {
    /// Such as its owner. Unique.
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    /// `read` shows debates; `run` also starts them and takes part; `admin` also deletes them and manages tokens.
    #[serde(default = "default_scope")]
    pub scope: Scope,
    /// `own` for debates that the token itself has created, `all` for every debate.
    #[serde(default = "default_reach")]
    pub reach: Reach,
    /// The maximum cost of its debates and test calls in a UTC day, in US dollars.
    #[serde(default)]
    #[schemars(range(min = 0.000_001, max = 1_000_000))]
    pub max_cost_per_day: Option<f64>,
    /// How many of its debates may run or be queued at the same time.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_running: Option<u32>,
    /// Models that it may use, as patterns such as `openai:*`; empty for all.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub models: Vec<String>,
    /// The token is valid for this many days; without it, until it is revoked.
    #[serde(default)]
    #[schemars(range(min = 1, max = 36_500))]
    pub expires_in_days: Option<u32>,
}

fn default_scope() -> Scope {
    Scope::Run
}

fn default_reach() -> Reach {
    Reach::All
}

const MAX_PATTERN_CHARS: usize = 200;

impl NewToken {
    /// The token's row, for this secret. Reports everything that is wrong at once.
    pub(crate) fn row(self, secret: &str) -> Result<TokenRow, Vec<Fault>> {
        let mut faults = Vec::new();
        let name = self.name.trim().to_owned();
        let has_valid_length = (1..=100).contains(&name.chars().count());
        if !has_valid_length || name.chars().any(char::is_control) {
            faults.push(Fault::new(
                "/name",
                "invalid token name: expected 1 to 100 characters, without control characters",
            ));
        }
        let limits = checked_limits(
            self.max_cost_per_day,
            self.max_running,
            &self.models,
            &mut faults,
        );
        if !faults.is_empty() {
            return Err(faults);
        }
        let now = clock::now();
        let days = self.expires_in_days;
        Ok(TokenRow {
            reach: self.reach,
            limits,
            expires_at: days.map(|days| now + u64::from(days) * DAY_MS),
            ..TokenRow::new(name, self.scope, tokens::hash(secret), now)
        })
    }
}

/// The limits of a token, with everything that is wrong with them.
fn checked_limits(
    max_cost_per_day: Option<f64>,
    max_running: Option<u32>,
    models: &[String],
    faults: &mut Vec<Fault>,
) -> TokenLimits {
    let max_cost_per_day = max_cost_per_day.and_then(|dollars| {
        let cost = Money::from_dollars(dollars).filter(|cost| *cost > Money::ZERO);
        if cost.is_none() {
            faults.push(Fault::new(
                "/max_cost_per_day",
                format!("invalid cost per day {dollars}: expected US dollars above 0, such as 5"),
            ));
        }
        cost
    });
    if max_running == Some(0) {
        faults.push(Fault::new(
            "/max_running",
            "invalid number of running debates: expected at least 1",
        ));
    }
    let models = models.iter().map(|pattern| pattern.trim().to_owned());
    let models: Vec<String> = models.collect();
    let is_pattern = |text: &String| {
        (text.contains(':') || text == "*")
            && text.chars().count() <= MAX_PATTERN_CHARS
            && !text.chars().any(|c| c.is_control() || c.is_whitespace())
    };
    if let Some(wrong) = models.iter().find(|text| !is_pattern(text)) {
        let short: String = wrong.chars().take(80).collect();
        faults.push(Fault::new(
            "/models",
            format!("invalid model pattern '{short}': expected provider:model, such as openai:*"),
        ));
    }
    TokenLimits {
        max_cost_per_day,
        max_running,
        models,
    }
}

/// The new reach and limits of a token, instead of all that it had.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenChange {
    /// `own` for debates that the token itself has created, `all` for every debate.
    pub reach: Reach,
    /// The maximum cost of its debates and test calls in a UTC day, in US dollars.
    #[serde(default)]
    #[schemars(range(min = 0.000_001, max = 1_000_000))]
    pub max_cost_per_day: Option<f64>,
    /// How many of its debates may run or be queued at the same time.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_running: Option<u32>,
    /// Models that it may use, as patterns such as `openai:*`; empty for all.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub models: Vec<String>,
}

impl TokenChange {
    /// Reports everything that is wrong at once.
    pub(crate) fn limits(&self) -> Result<TokenLimits, Vec<Fault>> {
        let mut faults = Vec::new();
        let cost = self.max_cost_per_day;
        let limits = checked_limits(cost, self.max_running, &self.models, &mut faults);
        if faults.is_empty() {
            Ok(limits)
        } else {
            Err(faults)
        }
    }
}

/// For the audit log: `reach own, $5.00 per day`.
pub(crate) fn change_summary(reach: Reach, limits: &TokenLimits) -> String {
    let (reach, limits) = (reach.name(), limits.summary());
    let limits = if limits.is_empty() {
        "no limits"
    } else {
        &limits
    };
    format!("reach {reach}, {limits}")
}

/// For the audit log: `scope run, reach own, $5.00 per day`.
pub(crate) fn summary(token: &TokenRow) -> String {
    let (scope, reach) = (token.scope.name(), token.reach.name());
    let limits = token.limits.summary();
    let comma = if limits.is_empty() { "" } else { ", " };
    format!("scope {scope}, reach {reach}{comma}{limits}")
}

#[cfg(test)]
#[path = "new_token_tests.rs"]
mod tests;
