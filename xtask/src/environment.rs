//! Environment variables and `PATH` entries that a child process needs to find a tool outside the usual places.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Empty for a tool that is found without help. Build scripts rerun when a variable they read changes, so setting one
/// without need would cause a rebuild when switching between `cargo xtask` and plain `cargo`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    path_prefix: Vec<PathBuf>,
    variables: Vec<(&'static str, OsString)>,
}

impl Environment {
    pub(crate) fn prepend_path(mut self, folder: PathBuf) -> Self {
        self.path_prefix.push(folder);
        self
    }

    pub(crate) fn set(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.path_prefix.extend(other.path_prefix);
        self.variables.extend(other.variables);
    }

    pub(crate) fn apply_to(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if self.path_prefix.is_empty() {
            return;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = self
            .path_prefix
            .iter()
            .cloned()
            .chain(std::env::split_paths(&path));
        // Joining fails only if a folder name contains the separator; such a folder cannot be on a PATH.
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
    }
}
