//! Presets as data (`presets/NAME.toml`): a protocol with its cast, models, rules and budget under one name (B-13). The user's
//! files work like the built-in one.

use std::collections::BTreeMap;

use roundtable_core::usage::Money;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::{Data, DataError, DataKind, Text, is_name, nearest};
use crate::depth::Depth;
use crate::protocol::AnyProtocol;
use crate::protocols;

/// The text of the built-in preset, as a start for new ones.
pub const SKELETON: &str = include_str!("../presets/second-opinion.toml");

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    pub name: String,
    pub summary: String,
    /// A command (`ask`) or the name of a protocol (`dialectic`).
    pub protocol: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cast: Option<String>,
    /// The model of all seats, as `provider:model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models of single seats.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seats: BTreeMap<String, String>,
    /// How much of the protocol is played. Rules that are set win.
    #[serde(default)]
    pub depth: Depth,
    /// The input of the protocol.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub rules: Map<String, Value>,
    #[serde(default)]
    pub budget: PresetBudget,
    #[serde(default)]
    pub on_disconnect: OnDisconnect,
}

/// The limits of one debate. The configured ones hold in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetBudget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<f64>,
}

/// The policy for a debate whose client disconnects before the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnDisconnect {
    /// Calls in flight finish; the debate is cancelled and can be resumed.
    #[default]
    Stop,
    Finish,
}

impl Preset {
    /// # Errors
    /// [`DataError`] with file and line.
    pub fn parse(text: &Text) -> Result<Self, DataError> {
        let preset: Self = text.parse()?;
        let broken = |key: &str, message: String| Err(text.broken(text.line_of_key(key), message));
        let file = text.name.rsplit('/').next().unwrap_or_default();
        if !is_name(&preset.name, "-_") || file.strip_suffix(".toml") != Some(&preset.name) {
            let message = format!(
                "the name '{}' must be that of the file, in lowercase letters, digits, '-' and '_'",
                preset.name
            );
            return broken("name", message);
        }
        if preset.summary.trim().is_empty() {
            return broken("summary", "the summary is empty".into());
        }
        if preset.protocol().is_none() {
            let known: Vec<&str> = protocols::ALL.iter().map(|known| known.command()).collect();
            let name = &preset.protocol;
            let message = format!(
                "unknown protocol '{name}'{}",
                nearest(name, &known, "known")
            );
            return broken("protocol", message);
        }
        let budget = &preset.budget;
        if let Some(cost) = budget
            .max_cost
            .filter(|cost| Money::from_dollars(*cost).is_none())
        {
            let message = format!("invalid max_cost {cost}: expected US dollars, such as 0.50");
            return broken("max_cost", message);
        }
        if let Some(seconds) = budget
            .max_seconds
            .filter(|time| !(0.001..=31_536_000.0).contains(time))
        {
            let message = format!("invalid max_seconds {seconds}: expected 0.001 to a year");
            return broken("max_seconds", message);
        }
        Ok(preset)
    }

    pub fn load(data: &Data, name: &str) -> Result<Self, DataError> {
        Self::parse(&data.named(DataKind::Presets, "preset", name)?)
    }

    pub fn protocol(&self) -> Option<&'static dyn AnyProtocol> {
        protocols::of_command(&self.protocol).or_else(|| protocols::named(&self.protocol))
    }
}

#[cfg(test)]
#[path = "preset_tests.rs"]
mod tests;
