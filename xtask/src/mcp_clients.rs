//! Installs the MCP clients of `tests/suite/mcp_clients.rs` from the npm registry and from `PyPI` into the cache folder.

use std::path::{Path, PathBuf};

use crate::packages::Packages;

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
    let packages = Packages {
        folder,
        wanted: format!("{}\n{PYTHON_PACKAGE}", NODE_PACKAGES.join("\n")),
        size: "about 300 MB",
    };
    packages.ensure(|packages| {
        packages.npm("node", &NODE_PACKAGES)?;
        packages.pip("python", &[PYTHON_PACKAGE])
    })?;
    Ok(folder.to_path_buf())
}
