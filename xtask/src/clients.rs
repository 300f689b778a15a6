//! Installs the programs of `tests/suite/clients.rs` into the cache folder: command-line agents and clients of the OpenAI-compatible
//! API, from the npm registry and from `PyPI`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::log;
use crate::packages::Packages;

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
    let python = PYTHON
        .iter()
        .flat_map(|(_, packages)| packages.iter().copied());
    let wanted: Vec<&str> = PACKAGES.into_iter().chain(python).collect();
    let packages = Packages {
        folder,
        wanted: wanted.join("\n"),
        size: "about 2 GB",
    };
    packages.ensure(|packages| {
        packages.npm(".", &PACKAGES)?;
        for (package, script) in SCRIPTS {
            // The test of this program fails with the reason.
            if let Err(error) = packages.node(package, script) {
                log(&format!("{package}: {error}"));
            }
        }
        let mut environments = PYTHON.iter();
        environments.try_for_each(|(environment, wanted)| packages.pip(environment, wanted))
    })?;
    Ok(folder.join("node_modules/.bin"))
}

/// The tests of a program.
pub(crate) fn test_name(filter: &OsStr) -> OsString {
    let mut name = OsString::from("clients::");
    name.push(filter);
    name
}
