//! The workspace, tools and target folders.
//!
//! Everything kept between runs is in `roundtable` in the user's cache folder. The target folder is there too: a fresh clone
//! (or a second worktree) starts with all dependencies built, including the embedded model's runtime, which takes minutes
//! to compile. Without a writable cache folder, the clone's own `target` is used.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::log;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Folders {
    pub(crate) workspace: PathBuf,
    /// Tools installed with pip, each in its own folder.
    pub(crate) tools: PathBuf,
    /// Passed to cargo as `CARGO_TARGET_DIR`; `None` keeps cargo's own choice.
    pub(crate) target: Option<PathBuf>,
}

/// The environment variables that determine the folders.
#[derive(Default)]
struct Variables {
    xdg_cache_home: Option<OsString>,
    home: Option<OsString>,
    target_is_set: bool,
}

impl Folders {
    pub(crate) fn find() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        // The run-time variable first: the compile-time path is that of the clone that built this binary.
        let manifest = variable("CARGO_MANIFEST_DIR")
            .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let workspace = manifest
            .parent()
            .map_or_else(|| manifest.clone(), Path::to_path_buf);
        let variables = Variables {
            xdg_cache_home: variable("XDG_CACHE_HOME"),
            home: variable("HOME"),
            target_is_set: variable("CARGO_TARGET_DIR").is_some()
                || variable("CARGO_BUILD_TARGET_DIR").is_some(),
        };
        let cache = cache_folder(&variables).filter(|cache| match std::fs::create_dir_all(cache) {
            Ok(()) => true,
            Err(error) => {
                log(&format!(
                    "cannot use {} ({error}); building in the clone's target folder",
                    cache.display()
                ));
                false
            }
        });
        Self::new(cache, workspace, &variables)
    }

    /// The folder that cargo builds in.
    pub(crate) fn target_folder(&self) -> PathBuf {
        let from_user = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"]
            .into_iter()
            .filter_map(std::env::var_os)
            .find(|value| !value.is_empty());
        let target = self.target.clone().or(from_user.map(PathBuf::from));
        self.workspace
            .join(target.unwrap_or_else(|| "target".into()))
    }

    fn new(cache: Option<PathBuf>, workspace: PathBuf, variables: &Variables) -> Self {
        match cache {
            Some(cache) => Self {
                workspace,
                tools: cache.join("tools"),
                target: (!variables.target_is_set).then(|| cache.join("target")),
            },
            None => Self {
                tools: workspace.join("target").join("tools"),
                workspace,
                target: None,
            },
        }
    }
}

/// `roundtable` in the user's cache folder. The XDG specification says to ignore relative paths.
fn cache_folder(variables: &Variables) -> Option<PathBuf> {
    let absolute = |value: &OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let xdg = variables.xdg_cache_home.as_ref().and_then(absolute);
    let home = variables.home.as_ref().and_then(absolute);
    xdg.or_else(|| home.map(|home| home.join(".cache")))
        .map(|cache| cache.join("roundtable"))
}

#[cfg(test)]
#[path = "folders_tests.rs"]
mod tests;
