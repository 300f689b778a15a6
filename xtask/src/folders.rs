//! Where things are kept between runs.
//!
//! Everything lives below `roundtable` in the user's cache folder. The target folder is there too, so that a fresh clone
//! (or a second worktree) starts with the dependencies built: the embedded model's runtime alone takes minutes to
//! compile and is the same for every clone. Without a cache folder that can be written, the clone's own `target` serves.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::say;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Folders {
    pub(crate) workspace: PathBuf,
    /// Tools that were installed with pip, each in a folder of its own.
    pub(crate) tools: PathBuf,
    /// Where cargo builds; `None` leaves it to what the user has set.
    pub(crate) target: Option<PathBuf>,
}

/// The variables that say where folders are.
#[derive(Default)]
struct Variables {
    xdg_cache_home: Option<OsString>,
    home: Option<OsString>,
    target_is_set: bool,
}

impl Folders {
    pub(crate) fn find() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        // Cargo tells us at run time; the path baked in at compile time is that of the clone which built this binary.
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
                say(&format!(
                    "{} cannot be used ({error}); building in the clone's own target folder",
                    cache.display()
                ));
                false
            }
        });
        Self::below(cache, workspace, &variables)
    }

    /// Where what cargo builds in the workspace is found.
    pub(crate) fn built(&self) -> PathBuf {
        let set = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"].map(std::env::var_os);
        let set = set.into_iter().flatten().find(|value| !value.is_empty());
        let chosen = self.target.clone().or_else(|| set.map(PathBuf::from));
        self.workspace
            .join(chosen.unwrap_or_else(|| "target".into()))
    }

    fn below(cache: Option<PathBuf>, workspace: PathBuf, variables: &Variables) -> Self {
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

/// `roundtable` in the user's cache folder. A relative XDG path is to be ignored, says its specification.
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
