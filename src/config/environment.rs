//! The process environment, read once. Tests construct their own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

/// A secret such as an API key. `Debug` and `Display` mask it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The only access to the text.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The user's folders for this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    pub home: PathBuf,
    pub config: PathBuf,
    pub data: PathBuf,
    pub cache: PathBuf,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// Empty for that of the process.
    pub working_dir: PathBuf,
    /// `None` if the user has no home folder.
    pub folders: Option<Folders>,
    // Any variable may be a key, so all are secrets.
    variables: BTreeMap<String, Secret>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let folders = etcetera::choose_base_strategy().ok().map(|base| Folders {
            home: base.home_dir().to_path_buf(),
            config: base.config_dir().join("roundtable"),
            data: base.data_dir().join("roundtable"),
            cache: base.cache_dir().join("roundtable"),
        });
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(_, value)| !value.trim().is_empty())
            .map(|(name, value)| (name, Secret::new(value.trim())))
            .collect();
        Self {
            working_dir: PathBuf::new(),
            folders,
            variables,
        }
    }

    /// Without any variables.
    #[cfg(test)]
    pub(crate) fn at(working_dir: impl Into<PathBuf>, folders: Option<Folders>) -> Self {
        Self {
            working_dir: working_dir.into(),
            folders,
            variables: BTreeMap::new(),
        }
    }

    #[cfg(test)]
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), Secret::new(value));
        self
    }

    /// `None` if the variable is empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(Secret::expose)
    }

    /// The name of the user who runs the program, for the audit log.
    pub(crate) fn user(&self) -> String {
        let name = self.variable("USER").or_else(|| self.variable("LOGNAME"));
        name.map_or_else(uid, str::to_owned)
    }

    pub(crate) fn secret(&self, name: &str) -> Option<&Secret> {
        self.variables.get(name)
    }

    /// A path as people and shells write it, with `~` for the home folder.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let home = self.folders.as_ref().map(|folders| &folders.home);
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from)
    }
}

#[cfg(unix)]
fn uid() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn uid() -> String {
    "unknown".to_owned()
}
