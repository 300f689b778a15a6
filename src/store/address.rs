//! The address of a store: a data folder on this machine or a `PostgreSQL` URL.

use std::fmt;
use std::net::IpAddr;
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

impl Address {
    /// A warning for the user if others could read or change it. `tls_mode` is the one from the environment.
    pub(crate) fn warning(&self, tls_mode: Option<&str>) -> Option<String> {
        match self {
            #[cfg(unix)]
            Self::Folder(folder) => is_of_another_user(folder).then(|| {
                format!(
                    "the data folder {} belongs to another user and is open to others: its owner should run \
                     `chmod 700` on it",
                    folder.display()
                )
            }),
            #[cfg(not(unix))]
            Self::Folder(_) => None,
            Self::Server(url) => (url.is_remote() && !url.requires_tls(tls_mode)).then(|| {
                format!(
                    "the connection to {url} may be unencrypted: add ?sslmode=verify-full to the address, \
                     and sslrootcert=FILE for a certificate authority of your own"
                )
            }),
        }
    }
}

#[cfg(unix)]
fn is_of_another_user(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = std::fs::metadata(folder).map(|metadata| metadata.uid());
    super::folder::is_open_to_others(folder)
        && owner.is_ok_and(|owner| owner != rustix::process::geteuid().as_raw())
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

    /// Whether the server is on another machine: neither a loopback address nor a socket.
    fn is_remote(&self) -> bool {
        let shown = self.to_string();
        let host = shown.split("://").nth(1).unwrap_or_default();
        let host = host.split('/').next().unwrap_or_default();
        let host = match host.strip_prefix('[') {
            Some(v6) => v6.split(']').next(),
            None => host.split(':').next(),
        };
        let host = self.option("host").or(host).unwrap_or_default();
        let is_socket = host.is_empty() || host.starts_with(['/', '%']);
        let is_loopback = host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback());
        !is_socket && !is_loopback && host != "localhost"
    }

    /// Whether a connection without TLS would be refused. The default is to do without it if the server does.
    fn requires_tls(&self, default: Option<&str>) -> bool {
        let mode = self.option("sslmode").or_else(|| self.option("ssl-mode"));
        let mode = mode.or(default).unwrap_or_default();
        ["require", "verify-ca", "verify-full"].contains(&mode)
    }

    /// The value of an option after `?`.
    fn option(&self, name: &str) -> Option<&str> {
        let (_, options) = self.0.split_once('?')?;
        let mut pairs = options.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(key, value)| (key == name).then_some(value))
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
