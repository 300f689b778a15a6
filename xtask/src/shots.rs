//! Installs axe-core, which finds errors in the accessibility of pages, from the npm registry into the cache folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::log;
use crate::probe::run_captured;

const PACKAGE: &str = "axe-core@4.14.0";

/// Returns the script.
pub(crate) fn install(folder: &Path) -> Result<PathBuf, String> {
    let script = folder.join("node_modules/axe-core/axe.min.js");
    let marker = folder.join("installed");
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == PACKAGE) {
        return Ok(script);
    }
    log(&format!("installing {PACKAGE}"));
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .arg(PACKAGE);
    run_captured(&mut npm).map_err(|error| format!("npm install: {error}"))?;
    std::fs::write(&marker, PACKAGE).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(script)
}

/// The folder for the pictures, as an absolute path: the tests run elsewhere.
pub(crate) fn folder(given: Option<OsString>) -> Result<PathBuf, String> {
    let folder = given.map_or_else(|| PathBuf::from("target/shots"), PathBuf::from);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    folder
        .canonicalize()
        .map_err(|error| format!("{}: {error}", folder.display()))
}
