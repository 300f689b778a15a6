//! A document in the user's browser, as a temporary file that only the user can read.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::output;
use crate::config::Environment;
use crate::failure::Failure;

/// Writes the file, opens it, and prints its path.
pub(super) fn open(environment: &Environment, html: &str) -> Result<(), Failure> {
    let path = write(html)
        .map_err(|error| Failure::other(format!("cannot write a temporary file: {error}")))?;
    if start(environment.variable("BROWSER"), &path) {
        output::note("Opened in the browser:");
    } else {
        output::note("Cannot start a browser. Open this file:");
    }
    output::write_all(&format!("{}\n", path.display()))
}

/// A temporary file has mode 0600.
fn write(html: &str) -> std::io::Result<PathBuf> {
    let mut file = tempfile::Builder::new()
        .prefix("roundtable-")
        .suffix(".html")
        .tempfile()?;
    file.write_all(html.as_bytes())?;
    let (_, path) = file.keep()?;
    Ok(path)
}

/// Whether a browser was started: that of `$BROWSER`, otherwise the system's. It is not waited for.
fn start(browser: Option<&str>, path: &Path) -> bool {
    let system = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut words = browser.unwrap_or(system).split_whitespace();
    let Some(program) = words.next() else {
        return false;
    };
    let started = Command::new(program)
        .args(words)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.is_ok()
}
