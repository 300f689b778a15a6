//! Priority of a question or skill that projects lacked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spread::real;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Priority {
    Low,
    Medium,
    High,
}

/// Lowest share of projects for `High`.
pub const HIGH_SHARE: f64 = 0.40;
/// Lowest share of projects for `Medium`.
pub const MEDIUM_SHARE: f64 = 0.25;

/// Prior: two projects that did not need it, so that a single project never gives `High`.
const PSEUDO_PROJECTS: f64 = 2.0;

impl Priority {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }

    /// `lacking` of `projects` needed it.
    pub fn of(lacking: usize, projects: usize) -> Self {
        let share = real(lacking) / (real(projects) + PSEUDO_PROJECTS);
        if share >= HIGH_SHARE {
            Self::High
        } else if share >= MEDIUM_SHARE {
            Self::Medium
        } else {
            Self::Low
        }
    }
}
