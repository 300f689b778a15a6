//! Usage and cost of one step.

use roundtable_core::usage::{Money, Usage};
use serde::{Deserialize, Serialize};

/// The usage of one step, summed over all its attempts: tokens, calls, time and cost (C-11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    #[serde(flatten)]
    pub usage: Usage,
    pub calls: u32,
    /// The number of `calls` that ended in tool calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tool_turns: u32,
    pub retries: u32,
    pub latency_ms: u64,
    /// `None` if the price is unknown.
    pub cost: Option<Money>,
    /// The provider reported no usage; it was estimated with a tokenizer.
    pub estimated: bool,
}

impl Spent {
    /// Adds usage and calls of the same step; time and cost are those of the whole step.
    pub fn add(&mut self, other: &Self) {
        self.usage += other.usage;
        self.calls += other.calls;
        self.tool_turns += other.tool_turns;
        self.retries += other.retries;
        self.estimated |= other.estimated;
    }

    /// Whether the reply was sent back to the model. Transport retries are counted in `retries`.
    pub fn was_sent_back(&self) -> bool {
        self.calls > self.tool_turns + 1
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "signature required by serde"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
