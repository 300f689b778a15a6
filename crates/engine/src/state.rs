//! The state of a debate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a debate. `Queued`, `Running` and `Waiting` are open; the others are final until the debate is reopened.
///
/// A debate whose process died has no end in its journal. Surfaces that can see that nothing runs it any more show it as
/// `Interrupted` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waiting for a free slot.
    Queued,
    Running,
    /// Waiting for a person's decision.
    Waiting,
    Complete,
    Partial,
    Failed,
    /// Ended by a person's decision.
    Cancelled,
    /// Stopped in the middle, by Ctrl-C or because its process died. It can be resumed.
    Interrupted,
}

impl State {
    pub const ALL: [Self; 8] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Complete,
        Self::Partial,
        Self::Failed,
        Self::Cancelled,
        Self::Interrupted,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}
