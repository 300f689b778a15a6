//! Installs the command-line agents of `tests/suite/clients.rs` from the npm registry into the cache folder.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::log;
use crate::probe::run_captured;

/// The versions that the presets were written for.
const PACKAGES: [&str; 4] = [
    "@anthropic-ai/claude-code@2.1.197",
    "@openai/codex@0.169.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
];

/// Scripts that put the program of this platform in its place. npm may be configured not to run them.
const SCRIPTS: [(&str, &str); 2] = [
    ("@anthropic-ai/claude-code", "install.cjs"),
    ("opencode-ai", "postinstall.mjs"),
];

/// Returns the folder of the programs.
pub(crate) fn install(folder: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let programs = folder.join("node_modules/.bin");
    let marker = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(programs);
    }
    log(&format!("installing {} (about 1 GB)", PACKAGES.join(", ")));
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .args(PACKAGES);
    run_captured(&mut npm).map_err(|error| format!("npm install: {error}"))?;
    for (package, script) in SCRIPTS {
        let mut node = Command::new("node");
        node.arg(script)
            .current_dir(folder.join("node_modules").join(package));
        // The test of this program fails with the reason.
        if let Err(error) = run_captured(&mut node) {
            log(&format!("{package}: {error}"));
        }
    }
    std::fs::write(&marker, wanted).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(programs)
}

/// The tests of a program.
pub(crate) fn test_name(filter: &OsStr) -> OsString {
    let mut name = OsString::from("clients::");
    name.push(filter);
    name
}
