//! Packages of the npm registry and of `PyPI` in a folder of their own. Their caches, and the files that their scripts write, are in that
//! folder too.

use std::path::Path;
use std::process::Command;

use crate::log;
use crate::probe::run_captured;

/// A folder with packages.
pub(crate) struct Packages<'p> {
    pub(crate) folder: &'p Path,
    /// The installed packages with their versions and their size.
    pub(crate) wanted: String,
    pub(crate) size: &'static str,
}

impl Packages<'_> {
    /// Runs `install` unless the folder has these versions already. An installation that failed half-way is repeated.
    pub(crate) fn ensure(
        &self,
        install: impl FnOnce(&Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let marker = self.folder.join("installed");
        if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == self.wanted) {
            return Ok(());
        }
        let failed = |error| format!("{}: {error}", self.folder.display());
        std::fs::create_dir_all(self.folder.join("home")).map_err(failed)?;
        log(&format!(
            "installing {} ({})",
            self.wanted.replace('\n', ", "),
            self.size
        ));
        install(self)?;
        std::fs::write(&marker, &self.wanted).map_err(failed)
    }

    /// Installs packages of the npm registry into a subfolder; `.` is the folder itself.
    pub(crate) fn npm(&self, into: &str, packages: &[&str]) -> Result<(), String> {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-update-notifier"])
            .arg("--prefix")
            .arg(self.folder.join(into))
            .args(packages);
        self.run(&mut npm, "npm install")
    }

    /// Creates a virtual environment with these packages in a subfolder.
    pub(crate) fn pip(&self, into: &str, packages: &[&str]) -> Result<(), String> {
        let environment = self.folder.join(into);
        let mut venv = Command::new("python3");
        self.run(
            venv.args(["-m", "venv"]).arg(&environment),
            "python3 -m venv",
        )?;
        let mut pip = Command::new(environment.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"])
            .args(packages);
        self.run(&mut pip, "pip install")
    }

    /// Runs a script of a package, with a home folder of its own.
    pub(crate) fn node(&self, package: &str, script: &str) -> Result<(), String> {
        let mut node = Command::new("node");
        node.arg(script)
            .current_dir(self.folder.join("node_modules").join(package))
            .env("HOME", self.folder.join("home"));
        self.run(&mut node, script)
    }

    fn run(&self, command: &mut Command, what: &str) -> Result<(), String> {
        let cache = |name: &str| self.folder.join("cache").join(name);
        command
            .env("npm_config_cache", cache("npm"))
            .env("npm_config_devdir", cache("node-gyp"))
            .env("PIP_CACHE_DIR", cache("pip"))
            .env("XDG_CACHE_HOME", cache("other"));
        run_captured(command).map_err(|error| format!("{what}: {error}"))
    }
}
