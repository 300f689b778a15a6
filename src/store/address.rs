//! The address of a store: a data folder on this machine or a `PostgreSQL` URL.

use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Folder(PathBuf),
    Server(Url),
}

/// A database URL. It may contain a password, so `Display` and `Debug` show only part of it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Url(String);

/// The name of the database file in a data folder.
pub(super) const FILE: &str = "roundtable.db";
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

impl Address {
    /// Parses user input: a database URL, a data folder, or the database file in it.
    pub(crate) fn parse(text: &str) -> Self {
        if Self::is_server(text) {
            return Self::Server(Url(text.to_owned()));
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        let path = Path::new(path.strip_prefix("//").unwrap_or(path));
        let is_file = path.file_name().is_some_and(|name| name == FILE);
        let folder = if is_file { path.parent() } else { None };
        Self::Folder(folder.unwrap_or(path).to_path_buf())
    }

    pub(crate) fn is_server(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Server(url) => url.fmt(f),
        }
    }
}

impl Url {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

/// Leaves out user, password and options.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("postgres", &self.0));
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        // A password may contain '@', so split at the last one.
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        write!(f, "{scheme}://{host}")
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
