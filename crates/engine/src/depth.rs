//! How thorough a debate is, in one word (B-13). The meaning of a depth is decided by each protocol
//! ([`Protocol::at_depth`](crate::protocol::Protocol::at_depth)).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How thorough a debate is: `quick` is at most three calls deep, `normal` is the protocol's default, `deep` plays more rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Depth {
    Quick,
    #[default]
    Normal,
    Deep,
}

impl Depth {
    pub const ALL: [Self; 3] = [Self::Quick, Self::Normal, Self::Deep];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Deep => "deep",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|depth| depth.name() == name)
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature is serde's"
    )]
    pub(crate) fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

#[cfg(test)]
#[path = "depth_tests.rs"]
mod tests;
