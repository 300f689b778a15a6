//! Getting what is missing.
//!
//! Which ways are open is found out once and only if something is missing. They are tried in turn until the need is
//! found; a way that fails is reported and the next one tried.

use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::run_quietly;
use crate::needs::{NEEDS, Need, Purpose};
use crate::plan::{Allowed, Offers, Privilege, Step, plan};
use crate::say;
use crate::surroundings::Surroundings;

/// What stays missing: a report that says why and what to do.
#[derive(Debug)]
pub(crate) struct StillMissing(String);

impl fmt::Display for StillMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Sees to everything that these purposes need; returns what children must be given to find it.
pub(crate) fn provide(purposes: &[Purpose], tools: &Path) -> Result<Surroundings, StillMissing> {
    let mut surroundings = Surroundings::default();
    let mut installer = None;
    let mut report = String::new();
    for need in NEEDS.iter().filter(|need| purposes.contains(&need.purpose)) {
        let found = (need.find)(&tools.join(need.name)).map_or_else(
            || {
                installer
                    .get_or_insert_with(Installer::look)
                    .get(need, tools)
            },
            Ok,
        );
        match found {
            Ok(found) => surroundings.add(found),
            Err(missing) => report.push_str(&missing),
        }
    }
    if report.is_empty() {
        return Ok(surroundings);
    }
    if purposes.contains(&Purpose::Embed) {
        report.push_str("Without the embedded model less is needed: cargo build --release --no-default-features\n");
    }
    Err(StillMissing(report))
}

struct Installer {
    offers: Offers,
    package_lists_are_fresh: bool,
}

impl Installer {
    fn look() -> Self {
        let allowed = std::env::var("XTASK_INSTALL").ok();
        // A list we do not understand was meant to restrict us.
        let allowed = Allowed::parse(allowed.as_deref()).unwrap_or_else(|unknown| {
            say(&format!("{unknown}; installing nothing"));
            Allowed::NONE
        });
        Self {
            offers: Offers::look(allowed),
            package_lists_are_fresh: false,
        }
    }

    /// Goes the open ways until the need is found; otherwise a paragraph about it.
    fn get(&mut self, need: &Need, tools: &Path) -> Result<Surroundings, String> {
        let (open, mut obstacles) = plan(need.ways, &self.offers);
        let folder = tools.join(need.name);
        for step in open {
            say(&format!(
                "{} is missing (it {}); {step}",
                need.name, need.because
            ));
            match self.go(step, &folder) {
                Ok(()) => match (need.find)(&folder) {
                    Some(found) => return Ok(found),
                    None => obstacles.push(format!("{step}: done, yet it is not found")),
                },
                Err(failure) => {
                    say(&format!("that failed: {failure}"));
                    obstacles.push(format!("{step}: failed, see above"));
                }
            }
        }
        Err(describe(need, &obstacles))
    }

    fn go(&mut self, step: Step, folder: &Path) -> Result<(), String> {
        match step {
            Step::Apt {
                packages,
                privilege,
            } => self.apt(packages, privilege),
            Step::Pip {
                requirement, pip, ..
            } => install_wheel(requirement, pip, folder),
            Step::Rustup { component } => {
                run_quietly(Command::new("rustup").args(["component", "add", component]))
            }
        }
    }

    fn apt(&mut self, packages: &[&str], privilege: Privilege) -> Result<(), String> {
        if !self.package_lists_are_fresh {
            // Lists that cannot be refreshed (one source is down) may still do; the installation will tell.
            if let Err(failure) = run_quietly(apt_get(privilege).arg("update")) {
                say(&format!(
                    "the package lists could not be refreshed: {failure}"
                ));
            }
            self.package_lists_are_fresh = true;
        }
        run_quietly(
            apt_get(privilege)
                .args(["install", "-y", "--no-install-recommends"])
                .args(packages),
        )
    }
}

fn describe(need: &Need, obstacles: &[String]) -> String {
    let mut text = format!("{} is missing: it {}.\n", need.name, need.because);
    for obstacle in obstacles {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {obstacle}");
    }
    let _ = writeln!(text, "  To install it yourself: {}", need.by_hand);
    text
}

fn apt_get(privilege: Privilege) -> Command {
    // The variable goes through `env`, because sudo drops what it inherits.
    let words: &[&str] = match privilege {
        Privilege::Root => &["env"],
        Privilege::PasswordlessSudo => &["sudo", "-n", "env"],
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args([
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "-qq",
        // Somebody else's apt may be running, as it does on a machine that has just started.
        "-o",
        "DPkg::Lock::Timeout=120",
    ]);
    command
}

/// Installs into a neighbouring folder first: `folder` is there whole or not at all, whenever we are interrupted.
fn install_wheel(requirement: &str, pip: &[&str], folder: &Path) -> Result<(), String> {
    let unfinished = PathBuf::from(format!("{}.{}", folder.display(), std::process::id()));
    let text = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&unfinished).map_err(text)?;
    let installed = pip_install(requirement, pip, &unfinished, &[]).or_else(|failure| {
        // Some distributions guard their Python even where a folder of our own is the target.
        if failure.contains("externally-managed") {
            pip_install(requirement, pip, &unfinished, &["--break-system-packages"])
        } else {
            Err(failure)
        }
    });
    let finished = installed.and_then(|()| {
        // What is in the way was looked at and found unusable.
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(text)?;
        }
        std::fs::rename(&unfinished, folder).map_err(text)
    });
    if finished.is_err() {
        // Best effort: the failure is what counts.
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    finished
}

fn pip_install(
    requirement: &str,
    pip: &[&str],
    target: &Path,
    further: &[&str],
) -> Result<(), String> {
    let Some((program, arguments)) = pip.split_first() else {
        return Err("no pip".to_owned());
    };
    run_quietly(
        Command::new(program)
            .args(arguments)
            .args([
                "install",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
                "--no-deps",
            ])
            // Never from source: compiling cmake would take longer than everything else together.
            .args(["--only-binary", ":all:"])
            .args(further)
            .arg("--target")
            .arg(target)
            .arg(requirement)
            // pip refuses --target where the user's configuration asks for per-user installation.
            .env("PIP_USER", "0"),
    )
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
