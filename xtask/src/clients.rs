//! Installs the programs of `tests/suite/clients.rs` into the cache folder: command-line agents and clients of the OpenAI-compatible
//! API, from the npm registry and from `PyPI`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::log;
use crate::probe::run_captured;

/// The versions that the presets were written for.
const PACKAGES: [&str; 8] = [
    "@anthropic-ai/claude-code@2.1.197",
    "@openai/codex@0.169.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
    "openai@6.49.0",
    "ai@6.0.326",
    "@ai-sdk/openai-compatible@2.0.87",
    "@ai-sdk/openai@3.0.141",
];

/// Python packages, by virtual environment: aider needs an older client than the others.
const PYTHON: [(&str, &[&str]); 2] = [
    (
        "python",
        &["openai==3.51.0", "langchain-openai==1.7.3", "llm==0.36"],
    ),
    ("aider", &["aider-chat==0.86.2"]),
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
    let python = PYTHON
        .iter()
        .flat_map(|(_, packages)| packages.iter().copied());
    let wanted: Vec<&str> = PACKAGES.into_iter().chain(python).collect();
    let wanted = wanted.join("\n");
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(programs);
    }
    log(&format!(
        "installing {} (about 2 GB)",
        wanted.replace('\n', ", ")
    ));
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
    for (environment, packages) in PYTHON {
        install_python(&folder.join(environment), packages)?;
    }
    std::fs::write(&marker, wanted).map_err(|error| format!("{}: {error}", marker.display()))?;
    Ok(programs)
}

/// Creates a virtual environment with these packages.
fn install_python(folder: &Path, packages: &[&str]) -> Result<(), String> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder);
    run_captured(&mut venv).map_err(|error| format!("python3 -m venv: {error}"))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"])
        .args(packages);
    run_captured(&mut pip).map_err(|error| format!("pip install: {error}"))?;
    Ok(())
}

/// The tests of a program.
pub(crate) fn test_name(filter: &OsStr) -> OsString {
    let mut name = OsString::from("clients::");
    name.push(filter);
    name
}
