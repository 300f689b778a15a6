//! How this program was installed, by the path of its executable, and the command that updates it. A guess that may be wrong is not
//! made.

use std::path::Path;

/// The name of the packages; `roundtable` is taken by another project.
const PACKAGE: &str = "roundtable-debate";
/// The list of a Debian package's files.
const DPKG_LIST: &str = "/var/lib/dpkg/info/roundtable-debate.list";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstallMethod {
    Cargo,
    /// Built in a clone.
    Source,
    UvTool,
    Pipx,
    /// In a Python environment.
    Pip,
    Npm,
    Deb,
    Unknown,
}

impl InstallMethod {
    /// `program` is the path of the executable, without symbolic links.
    pub(super) fn of(program: &Path) -> Self {
        let environment = program.parent().and_then(Path::parent);
        let is_python = environment.is_some_and(|folder| folder.join("pyvenv.cfg").is_file());
        let is_deb = Path::new(DPKG_LIST).is_file();
        Self::by_path(program, is_python, is_deb)
    }

    fn by_path(program: &Path, is_python: bool, is_deb: bool) -> Self {
        let folders: Vec<&str> = program
            .parent()
            .iter()
            .flat_map(|folder| folder.components())
            .filter_map(|part| part.as_os_str().to_str())
            .collect();
        let has = |names: &[&str]| folders.windows(names.len()).any(|part| part == names);
        if has(&["node_modules"]) {
            Self::Npm
        } else if has(&["uv", "tools", PACKAGE]) {
            Self::UvTool
        } else if has(&["pipx", "venvs", PACKAGE]) {
            Self::Pipx
        } else if is_python || has(&["site-packages"]) {
            Self::Pip
        } else if folders.ends_with(&[".cargo", "bin"]) {
            Self::Cargo
        } else if has(&["target", "debug"])
            || has(&["target", "release"])
            || has(&["target", "quick"])
        {
            Self::Source
        } else if is_deb && folders.ends_with(&["usr", "bin"]) {
            Self::Deb
        } else {
            Self::Unknown
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Source => "source",
            Self::UvTool => "uv",
            Self::Pipx => "pipx",
            Self::Pip => "pip",
            Self::Npm => "npm",
            Self::Deb => "deb",
            Self::Unknown => "unknown",
        }
    }

    pub(super) fn how_to_update(self) -> String {
        match self {
            Self::Cargo => {
                "repeat the `cargo install` that you installed it with, with --force".to_owned()
            }
            Self::Source => "run `git pull` in your clone and build it again".to_owned(),
            Self::UvTool => format!("uv tool upgrade {PACKAGE}"),
            Self::Pipx => format!("pipx upgrade {PACKAGE}"),
            Self::Pip => format!("pip install --upgrade {PACKAGE}"),
            Self::Npm => format!("npm install --global {PACKAGE}@latest"),
            Self::Deb => "download the new .deb file and install it with `sudo apt install ./FILE`"
                .to_owned(),
            Self::Unknown => "install the new release as you installed this one".to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "install_method_tests.rs"]
mod tests;
