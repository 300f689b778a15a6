//! What a child process must find in its environment to use a tool that is not in the usual place.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Empty for a tool that is found without help. That matters: build scripts run again when a variable they read has
/// changed, so a variable set without need would cost whoever switches between `cargo xtask` and plain `cargo` a rebuild.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Surroundings {
    first_on_path: Vec<PathBuf>,
    variables: Vec<(&'static str, OsString)>,
}

impl Surroundings {
    pub(crate) fn on_path(mut self, folder: PathBuf) -> Self {
        self.first_on_path.push(folder);
        self
    }

    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.first_on_path.extend(other.first_on_path);
        self.variables.extend(other.variables);
    }

    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if self.first_on_path.is_empty() {
            return;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = self
            .first_on_path
            .iter()
            .cloned()
            .chain(std::env::split_paths(&path));
        // Joining fails only where a folder's name holds the separator; such a folder cannot be on a PATH at all.
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
    }
}
