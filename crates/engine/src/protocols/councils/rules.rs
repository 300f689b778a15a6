//! The rules of a councils debate: mode, panel and content.

use serde::{Deserialize, Serialize};

use super::package::Package;
use crate::cast::Cast;
use crate::cast::councils::CouncilsSpec;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub mode: Mode,
    /// The cast's name.
    pub cast: String,
    pub panel: CouncilsSpec,
    pub package: Package,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Full,
    /// Round 1 only, no exchange between the councils, every seat on the fast tier (T-11).
    Fast,
    /// Like `fast`, without a critic: at most three calls deep (B-13).
    Quick,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    #[error("the cast '{cast}' is for the protocol '{protocol}' and has no councils")]
    NoCouncils { cast: String, protocol: String },
}

impl Rules {
    pub fn new(mode: Mode, cast: &Cast, package: Package) -> Result<Self, RulesError> {
        let panel = cast.panel.clone().ok_or_else(|| RulesError::NoCouncils {
            cast: cast.name.clone(),
            protocol: cast.protocol.clone(),
        })?;
        Ok(Self {
            mode,
            cast: cast.name.clone(),
            panel,
            package,
        })
    }
}
