//! What a debate may spend (C-07).

use roundtable_core::usage::Money;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub max_tokens: Option<u64>,
    pub max_cost: Option<Money>,
    pub max_ms: Option<u64>,
}
