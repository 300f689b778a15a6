//! Decides how to install a requirement, from its methods and those that are available on this machine.
//!
//! Only `AvailableMethods::detect` probes the machine; `plan` is pure.

use std::fmt;

use crate::probe::{first_line, runs};

/// An installation method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Debian packages.
    Apt(&'static [&'static str]),
    /// A Python wheel, installed into its own folder.
    Pip {
        requirement: &'static str,
        megabytes: u32,
    },
    /// A component of the Rust toolchain.
    Rustup(&'static str),
    /// A program on crates.io, compiled and installed into its own folder.
    Cargo { package: &'static str, minutes: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privilege {
    Root,
    PasswordlessSudo,
}

/// Why a method is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unavailable {
    Disabled,
    NotInstalled,
    NoPrivilege,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disabled => "disabled by XTASK_INSTALL",
            Self::NotInstalled => "not installed",
            Self::NoPrivilege => "needs root or passwordless sudo",
        })
    }
}

/// The methods that are available on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AvailableMethods {
    pub(crate) apt: Result<Privilege, Unavailable>,
    /// The command that runs pip.
    pub(crate) pip: Result<&'static [&'static str], Unavailable>,
    pub(crate) rustup: Result<(), Unavailable>,
    pub(crate) cargo: Result<(), Unavailable>,
}

/// An available method with everything needed to run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstallStep {
    Apt {
        packages: &'static [&'static str],
        privilege: Privilege,
    },
    Pip {
        requirement: &'static str,
        megabytes: u32,
        pip: &'static [&'static str],
    },
    Rustup {
        component: &'static str,
    },
    Cargo {
        package: &'static str,
        minutes: u32,
    },
}

impl AvailableMethods {
    pub(crate) fn detect(allowed: AllowedMethods) -> Self {
        let require =
            |condition: bool, reason: Unavailable| if condition { Ok(()) } else { Err(reason) };
        Self {
            apt: require(allowed.apt, Unavailable::Disabled)
                .and_then(|()| require(runs("apt-get", &["--version"]), Unavailable::NotInstalled))
                .and_then(|()| privilege().ok_or(Unavailable::NoPrivilege)),
            pip: require(allowed.pip, Unavailable::Disabled)
                .and_then(|()| pip().ok_or(Unavailable::NotInstalled)),
            rustup: require(allowed.rustup, Unavailable::Disabled)
                .and_then(|()| require(runs("rustup", &["--version"]), Unavailable::NotInstalled)),
            // It started this program.
            cargo: require(allowed.cargo, Unavailable::Disabled),
        }
    }
}

/// The methods that the user allows: all, unless `XTASK_INSTALL` lists some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent, one per method")]
pub(crate) struct AllowedMethods {
    apt: bool,
    pip: bool,
    rustup: bool,
    cargo: bool,
}

impl AllowedMethods {
    pub(crate) const NONE: Self = Self {
        apt: false,
        pip: false,
        rustup: false,
        cargo: false,
    };
    pub(crate) const ALL: Self = Self {
        apt: true,
        pip: true,
        rustup: true,
        cargo: true,
    };

    pub(crate) fn parse(list: Option<&str>) -> Result<Self, String> {
        let Some(list) = list.filter(|list| !list.trim().is_empty()) else {
            return Ok(Self::ALL);
        };
        let mut allowed = Self::NONE;
        for word in list.split(',').map(str::trim) {
            match word {
                "none" => {}
                "apt" => allowed.apt = true,
                "pip" => allowed.pip = true,
                "rustup" => allowed.rustup = true,
                "cargo" => allowed.cargo = true,
                _ => {
                    return Err(format!(
                        "unknown method `{word}` in XTASK_INSTALL: expected a list of apt, pip, rustup, cargo, or none"
                    ));
                }
            }
        }
        Ok(allowed)
    }
}

fn privilege() -> Option<Privilege> {
    if first_line("id", &["-u"]).as_deref() == Some("0") {
        return Some(Privilege::Root);
    }
    // -n: never prompt for a password, which would hang in CI.
    runs("sudo", &["-n", "true"]).then_some(Privilege::PasswordlessSudo)
}

/// The installation steps to try, best first, and why the other methods are unavailable.
pub(crate) fn plan(
    methods: &[Method],
    available: &AvailableMethods,
) -> (Vec<InstallStep>, Vec<String>) {
    let mut steps = Vec::new();
    let mut obstacles = Vec::new();
    for method in methods {
        let (name, step) = match *method {
            Method::Apt(packages) => {
                let step = |privilege| InstallStep::Apt {
                    packages,
                    privilege,
                };
                ("apt-get", available.apt.map(step))
            }
            Method::Pip {
                requirement,
                megabytes,
            } => {
                let step = |pip| InstallStep::Pip {
                    requirement,
                    megabytes,
                    pip,
                };
                ("pip", available.pip.map(step))
            }
            Method::Rustup(component) => {
                let step = |()| InstallStep::Rustup { component };
                ("rustup", available.rustup.map(step))
            }
            Method::Cargo { package, minutes } => {
                let step = |()| InstallStep::Cargo { package, minutes };
                ("cargo", available.cargo.map(step))
            }
        };
        match step {
            Ok(step) => steps.push(step),
            Err(reason) => obstacles.push(format!("{name}: {reason}")),
        }
    }
    (steps, obstacles)
}

impl fmt::Display for InstallStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apt {
                packages,
                privilege,
            } => {
                let sudo = match privilege {
                    Privilege::Root => "",
                    Privilege::PasswordlessSudo => "sudo ",
                };
                write!(
                    f,
                    "installing with `{sudo}apt-get install {}` (up to a few minutes)",
                    packages.join(" ")
                )
            }
            Self::Pip {
                requirement,
                megabytes,
                pip,
            } => {
                write!(
                    f,
                    "installing with `{} install '{requirement}'` into the cache folder ({megabytes} MB, about a minute)",
                    pip.join(" ")
                )
            }
            Self::Rustup { component } => write!(
                f,
                "installing with `rustup component add {component}` (seconds)"
            ),
            Self::Cargo { package, minutes } => write!(
                f,
                "installing with `cargo install --locked {package}` into the cache folder (about {minutes} minutes)"
            ),
        }
    }
}

/// The first pip command that works.
pub(crate) fn pip() -> Option<&'static [&'static str]> {
    const CANDIDATES: [&[&str]; 3] = [&["python3", "-m", "pip"], &["pip3"], &["pip"]];
    CANDIDATES.into_iter().find(|words| {
        words.split_first().is_some_and(|(program, arguments)| {
            runs(program, &[arguments, &["--version"]].concat())
        })
    })
}

#[cfg(test)]
#[path = "install_plan_tests.rs"]
mod tests;
