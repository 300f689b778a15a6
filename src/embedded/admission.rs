//! Which embedded models may be downloaded, and at whose wish.

use std::collections::BTreeSet;

use super::{NotReady, PROVIDER};
use crate::config::Config;

/// Decides about embedded language models whose weights are missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Admission {
    /// On the command line the user names the model: it is downloaded.
    #[default]
    Any,
    /// On a server or worker clients name models: only those of the configuration are downloaded. In lower case.
    Configured(BTreeSet<String>),
}

impl Admission {
    /// For a process that runs debates of clients.
    pub(crate) fn for_clients(config: &Config) -> Self {
        let models = config.named_models();
        let embedded = models.filter(|name| name.provider() == PROVIDER);
        Self::Configured(
            embedded
                .map(|name| name.model().to_ascii_lowercase())
                .collect(),
        )
    }

    /// # Errors
    /// If a model without weights must not be downloaded.
    pub(crate) fn check_missing(&self, name: &str) -> Result<(), NotReady> {
        let Self::Configured(names) = self else {
            return Ok(());
        };
        if names.contains(&name.to_ascii_lowercase()) {
            return Ok(());
        }
        // `auto` is the choice of the program, not of the client.
        if name == "auto" {
            return Err(NotReady::Unavailable(
                "its weights are not on this server, and requests do not download them. Run `roundtable pull` on the server"
                    .into(),
            ));
        }
        Err(NotReady::NotServed(format!(
            "{PROVIDER}:{name} is neither present on this server nor named in its configuration: choose another model, or ask \
             the operator to run `roundtable pull --model {name}`"
        )))
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
