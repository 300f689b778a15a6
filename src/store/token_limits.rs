//! The reach and the limits of a token.

use roundtable_core::glob;
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::errors::Failure;
use super::to_json;

/// Which debates a token can see and change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reach {
    /// Those that it created.
    Own,
    All,
}

impl Reach {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::All => "all",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Own, Self::All]
            .into_iter()
            .find(|known| known.name() == name)
    }
}

/// Limits of a token, in addition to those of each debate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TokenLimits {
    /// The maximum cost of its debates and test calls in a UTC day, in US dollars.
    #[serde(default)]
    pub max_cost_per_day: Option<Money>,
    /// How many of its debates may run or be queued at the same time.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_running: Option<u32>,
    /// Models that it may use, as patterns such as `openai:*`; empty for all.
    #[serde(default)]
    pub models: Vec<String>,
}

impl TokenLimits {
    pub(crate) fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it may use a model, given as `provider:model`.
    pub(crate) fn allows(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|one| glob::matches(one, model))
    }

    /// For people: `$5.00 per day, 3 running, models openai:*`.
    pub(crate) fn summary(&self) -> String {
        let mut parts = Vec::new();
        if let Some(cost) = self.max_cost_per_day {
            parts.push(format!("${:.2} per day", cost.dollars()));
        }
        if let Some(running) = self.max_running {
            parts.push(format!("{running} running"));
        }
        if !self.models.is_empty() {
            parts.push(format!("models {}", self.models.join(", ")));
        }
        parts.join(", ")
    }

    pub(super) fn stored(&self) -> Result<String, Failure> {
        if self.is_unlimited() {
            return Ok(String::new());
        }
        to_json(self)
    }

    pub(super) fn read(stored: &str) -> Option<Self> {
        if stored.is_empty() {
            return Some(Self::default());
        }
        serde_json::from_str(stored).ok()
    }
}
