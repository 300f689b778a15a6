//! Which models a debate may call, as the limits of a token say.

use roundtable_core::glob;

use crate::config::ModelName;

/// The default allows everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelPolicy {
    /// Patterns such as `openai:*`; empty for all models.
    pub models: Vec<String>,
    /// Only models whose price is known, because the cost is limited.
    pub priced_only: bool,
}

impl ModelPolicy {
    pub(super) fn is_unrestricted(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn allows(&self, name: &ModelName) -> bool {
        let name = name.to_string();
        self.models.is_empty() || self.models.iter().any(|one| glob::matches(one, &name))
    }
}
