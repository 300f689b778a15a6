//! Who sits at the table.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    /// The seat's name within its cast: `skeptic`.
    pub name: String,
    pub title: String,
    pub tier: Tier,
    pub temperature: f64,
    pub max_output_tokens: u32,
}

/// Two tiers map to models in the configuration (C-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Deliberate,
    Fast,
}
