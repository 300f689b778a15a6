//! Installs the MCP clients of `tests/suite/mcp_clients.rs` from the npm registry and from `PyPI` into the cache folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::log;
use crate::probe::run_captured;

/// The versions that the snapshots were made with. The conformance suite needs Node.js 22.
const NODE_PACKAGES: [&str; 4] = [
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/inspector@0.15.0",
    "@modelcontextprotocol/conformance@0.1.16",
    "node@22.23.3",
];
const PYTHON_PACKAGE: &str = "mcp==2.3.0";

/// Returns the folder of the clients: `node` with the packages of npm, `python` with an environment of Python.
pub(crate) fn install(folder: &Path) -> Result<PathBuf, String> {
    let (node, python) = (folder.join("node"), folder.join("python"));
    std::fs::create_dir_all(&node).map_err(|error| format!("{}: {error}", node.display()))?;
    let marker = folder.join("installed");
    let wanted = format!("{}\n{PYTHON_PACKAGE}", NODE_PACKAGES.join("\n"));
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(folder.to_path_buf());
    }
    log("installing the MCP clients (about 300 MB)");
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(&node)
        .args(NODE_PACKAGES);
    run_captured(&mut npm).map_err(|error| format!("npm install: {error}"))?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&python);
    run_captured(&mut venv).map_err(|error| format!("python3 -m venv: {error}"))?;
    let mut pip = Command::new(python.join("bin/pip"));
    pip.args(["install", "--quiet", PYTHON_PACKAGE]);
    run_captured(&mut pip).map_err(|error| format!("pip install: {error}"))?;
    std::fs::write(&marker, wanted).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(folder.to_path_buf())
}
