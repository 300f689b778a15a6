//! Installs missing requirements.
//!
//! The available methods are detected once, and only if something is missing. They are tried in order until the
//! requirement is found; a failure is logged and the next method is tried.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::Environment;
use crate::install_plan::{AllowedMethods, AvailableMethods, InstallStep, Privilege, plan};
use crate::log;
use crate::probe::{cargo, run_captured};
use crate::requirements::{Purpose, REQUIREMENTS, Requirement};

/// Finds or installs the requirements of these purposes; returns the environment in which child processes find them. The error
/// is a report of what could not be installed, why, and what to do.
pub(crate) fn ensure(purposes: &[Purpose], tools: &Path) -> Result<Environment, String> {
    let mut environment = Environment::default();
    let mut installer = None;
    let mut report = String::new();
    let required = REQUIREMENTS.iter();
    for requirement in required.filter(|required| purposes.contains(&required.purpose)) {
        let found = (requirement.find)(&tools.join(requirement.name));
        let found = found.map_or_else(
            || {
                installer
                    .get_or_insert_with(Installer::detect)
                    .install(requirement, tools)
            },
            Ok,
        );
        match found {
            Ok(found) => environment.merge(found),
            Err(missing) => report.push_str(&missing),
        }
    }
    if report.is_empty() {
        return Ok(environment);
    }
    if purposes.contains(&Purpose::EmbeddedModel) {
        report.push_str("A build without the embedded model has fewer requirements: cargo build --release --no-default-features\n");
    }
    Err(report)
}

/// Whether the requirements of a purpose are there, without installing them.
pub(crate) fn is_installed(purpose: Purpose, tools: &Path) -> bool {
    let mut required = REQUIREMENTS.iter();
    required.all(|required| {
        required.purpose != purpose || (required.find)(&tools.join(required.name)).is_some()
    })
}

struct Installer {
    methods: AvailableMethods,
    package_lists_updated: bool,
}

impl Installer {
    fn detect() -> Self {
        let allowed = std::env::var("XTASK_INSTALL").ok();
        // An invalid list was meant as a restriction, so nothing is allowed.
        let allowed = AllowedMethods::parse(allowed.as_deref()).unwrap_or_else(|unknown| {
            log(&format!("{unknown}. Installing nothing"));
            AllowedMethods::NONE
        });
        Self {
            methods: AvailableMethods::detect(allowed),
            package_lists_updated: false,
        }
    }

    /// Tries the available methods until the requirement is found; the error is a paragraph of the report.
    fn install(&mut self, requirement: &Requirement, tools: &Path) -> Result<Environment, String> {
        let (steps, mut obstacles) = plan(requirement.methods, &self.methods);
        let folder = tools.join(requirement.name);
        for step in steps {
            log(&format!(
                "{} is missing (it {}); {step}",
                requirement.name, requirement.reason
            ));
            match self.run(step, &folder) {
                Ok(()) => match (requirement.find)(&folder) {
                    Some(found) => return Ok(found),
                    None => obstacles.push(format!("{step}: succeeded, but it is still not found")),
                },
                Err(error) => {
                    log(&format!("installation failed: {error}"));
                    obstacles.push(format!("{step}: failed, see above"));
                }
            }
        }
        Err(describe(requirement, &obstacles))
    }

    fn run(&mut self, step: InstallStep, folder: &Path) -> Result<(), String> {
        match step {
            InstallStep::Apt {
                packages,
                privilege,
            } => self.apt_install(packages, privilege),
            InstallStep::Pip {
                requirement, pip, ..
            } => install_wheel(requirement, pip, folder),
            InstallStep::Rustup { component } => {
                run_captured(Command::new("rustup").args(["component", "add", component]))
            }
            InstallStep::Cargo { package, .. } => run_captured(
                Command::new(cargo())
                    .args(["install", "--locked", "--root"])
                    .arg(folder)
                    .arg(package),
            ),
        }
    }

    fn apt_install(&mut self, packages: &[&str], privilege: Privilege) -> Result<(), String> {
        if !self.package_lists_updated {
            // Not fatal: one source may be down, and the old lists may be good enough.
            if let Err(error) = run_captured(apt_get(privilege).arg("update")) {
                log(&format!("apt-get update failed: {error}"));
            }
            self.package_lists_updated = true;
        }
        run_captured(
            apt_get(privilege)
                .args(["install", "-y", "--no-install-recommends"])
                .args(packages),
        )
    }
}

fn describe(requirement: &Requirement, obstacles: &[String]) -> String {
    let mut text = format!(
        "{} is missing: it {}.\n",
        requirement.name, requirement.reason
    );
    for obstacle in obstacles {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {obstacle}");
    }
    let manual = requirement.manual_install;
    let _ = writeln!(text, "  To install it yourself: {manual}");
    text
}

fn apt_get(privilege: Privilege) -> Command {
    // Set through `env`, because sudo drops inherited variables.
    let words: &[&str] = match privilege {
        Privilege::Root => &["env"],
        Privilege::PasswordlessSudo => &["sudo", "-n", "env"],
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args([
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "-qq",
        // Another apt may hold the lock, as is usual just after boot.
        "-o",
        "DPkg::Lock::Timeout=120",
    ]);
    command
}

/// Installs into a temporary folder and renames it, so that an interruption leaves no partial `folder`.
fn install_wheel(requirement: &str, pip: &[&str], folder: &Path) -> Result<(), String> {
    let temporary = PathBuf::from(format!("{}.{}", folder.display(), std::process::id()));
    let io_error = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&temporary).map_err(io_error)?;
    let installed = pip_install(requirement, pip, &temporary, &[]).or_else(|error| {
        // Some distributions refuse even if the target is a separate folder.
        if error.contains("externally-managed") {
            pip_install(requirement, pip, &temporary, &["--break-system-packages"])
        } else {
            Err(error)
        }
    });
    let result = installed.and_then(|()| {
        // An existing folder was probed before and is unusable.
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(io_error)?;
        }
        std::fs::rename(&temporary, folder).map_err(io_error)
    });
    if result.is_err() {
        // Best effort: the first error is the one to report.
        let _ = std::fs::remove_dir_all(&temporary);
    }
    result
}

fn pip_install(
    requirement: &str,
    pip: &[&str],
    target: &Path,
    extra_arguments: &[&str],
) -> Result<(), String> {
    let Some((program, arguments)) = pip.split_first() else {
        return Err("pip is not installed".to_owned());
    };
    run_captured(
        Command::new(program)
            .args(arguments)
            .args([
                "install",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
                "--no-deps",
            ])
            // Wheels only: compiling cmake from source would take longer than the whole build.
            .args(["--only-binary", ":all:"])
            .args(extra_arguments)
            .arg("--target")
            .arg(target)
            .arg(requirement)
            // pip refuses --target if the user's configuration sets per-user installation.
            .env("PIP_USER", "0"),
    )
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
