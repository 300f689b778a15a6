//! Deciding how to get something: which ways this machine offers, and which of them to take.
//!
//! Looking at the machine happens in `Offers::look` and nowhere else; the decision itself is pure.

use std::fmt;

use crate::machine::{answer, runs};

/// A way to get something onto this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Debian packages.
    Apt(&'static [&'static str]),
    /// A Python package, as a wheel, into a folder of its own.
    Pip {
        requirement: &'static str,
        megabytes: u32,
    },
    /// A component of the Rust toolchain.
    Rustup(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privilege {
    Root,
    PasswordlessSudo,
}

/// Why a way is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    SwitchedOff,
    NotHere,
    NoRights,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SwitchedOff => "switched off by XTASK_INSTALL",
            Self::NotHere => "not on this machine",
            Self::NoRights => "needs root or passwordless sudo",
        })
    }
}

/// Which ways this machine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) apt: Result<Privilege, Closed>,
    /// The words that start a working pip.
    pub(crate) pip: Result<&'static [&'static str], Closed>,
    pub(crate) rustup: Result<(), Closed>,
}

/// A way that is open, with what it takes to go it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
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
}

impl Offers {
    pub(crate) fn look(allowed: Allowed) -> Self {
        let open_if = |condition: bool, why: Closed| if condition { Ok(()) } else { Err(why) };
        Self {
            apt: open_if(allowed.apt, Closed::SwitchedOff)
                .and_then(|()| open_if(runs("apt-get", &["--version"]), Closed::NotHere))
                .and_then(|()| privilege().ok_or(Closed::NoRights)),
            pip: open_if(allowed.pip, Closed::SwitchedOff)
                .and_then(|()| pip().ok_or(Closed::NotHere)),
            rustup: open_if(allowed.rustup, Closed::SwitchedOff)
                .and_then(|()| open_if(runs("rustup", &["--version"]), Closed::NotHere)),
        }
    }
}

/// The ways that the user lets us go: all, unless `XTASK_INSTALL` lists some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    apt: bool,
    pip: bool,
    rustup: bool,
}

impl Allowed {
    pub(crate) const NONE: Self = Self {
        apt: false,
        pip: false,
        rustup: false,
    };
    pub(crate) const ALL: Self = Self {
        apt: true,
        pip: true,
        rustup: true,
    };

    pub(crate) fn parse(list: Option<&str>) -> Result<Self, UnknownWay> {
        let Some(list) = list.filter(|list| !list.trim().is_empty()) else {
            return Ok(Self::ALL);
        };
        list.split(',')
            .map(str::trim)
            .try_fold(Self::NONE, |allowed, word| match word {
                "none" => Ok(allowed),
                "apt" => Ok(Self {
                    apt: true,
                    ..allowed
                }),
                "pip" => Ok(Self {
                    pip: true,
                    ..allowed
                }),
                "rustup" => Ok(Self {
                    rustup: true,
                    ..allowed
                }),
                _ => Err(UnknownWay(word.to_owned())),
            })
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownWay(String);

impl fmt::Display for UnknownWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "XTASK_INSTALL names `{}`, which is no way to install; list some of apt, pip, rustup, or say none",
            self.0
        )
    }
}

fn privilege() -> Option<Privilege> {
    if answer("id", &["-u"]).as_deref() == Some("0") {
        return Some(Privilege::Root);
    }
    // -n: never ask for a password; there may be nobody to type one.
    runs("sudo", &["-n", "true"]).then_some(Privilege::PasswordlessSudo)
}

/// The steps that can be taken, best first, and why the others cannot.
pub(crate) fn plan(ways: &[Way], offers: &Offers) -> (Vec<Step>, Vec<String>) {
    let mut steps = Vec::new();
    let mut obstacles = Vec::new();
    for way in ways {
        let (name, step) = match *way {
            Way::Apt(packages) => (
                "apt-get",
                offers.apt.map(|privilege| Step::Apt {
                    packages,
                    privilege,
                }),
            ),
            Way::Pip {
                requirement,
                megabytes,
            } => {
                let step = offers.pip.map(|pip| Step::Pip {
                    requirement,
                    megabytes,
                    pip,
                });
                ("pip", step)
            }
            Way::Rustup(component) => {
                ("rustup", offers.rustup.map(|()| Step::Rustup { component }))
            }
        };
        match step {
            Ok(step) => steps.push(step),
            Err(why) => obstacles.push(format!("{name}: {why}")),
        }
    }
    (steps, obstacles)
}

impl fmt::Display for Step {
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
                    "installing it with `{sudo}apt-get install {}` (up to a few minutes)",
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
                    "installing it with `{} install '{requirement}'` into the cache folder ({megabytes} MB, about a minute)",
                    pip.join(" ")
                )
            }
            Self::Rustup { component } => write!(
                f,
                "installing it with `rustup component add {component}` (seconds)"
            ),
        }
    }
}

/// The words that start a pip which works here.
pub(crate) fn pip() -> Option<&'static [&'static str]> {
    const CANDIDATES: [&[&str]; 3] = [&["python3", "-m", "pip"], &["pip3"], &["pip"]];
    CANDIDATES.into_iter().find(|words| {
        words.split_first().is_some_and(|(program, arguments)| {
            runs(program, &[arguments, &["--version"]].concat())
        })
    })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
