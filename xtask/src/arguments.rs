//! Command-line arguments.
//!
//! Only the first argument is parsed here; the rest is passed unchanged to `roundtable ask` or to the test runner.

use std::ffi::OsString;

/// The question for `try` without QUESTION: two-sided, and answerable without current events.
pub(crate) const DEFAULT_QUESTION: &str =
    "Should a team of five split its web shop into microservices?";

pub(crate) const HELP: &str = "\
Usage: cargo xtask TASK [ARGUMENTS]

Tasks:
  try [QUESTION] [OPTIONS]  build Roundtable and run a debate on QUESTION; OPTIONS are passed to `roundtable ask`
  check [FILTER]            fast checks without compiling C++: formatting, lints, tests of core, engine and xtask;
                            with FILTER only the tests whose names contain it, of everything but the embedded model
  test [FILTER]             everything CI runs: formatting, lints, all tests, the build without the embedded model;
                            with FILTER only the tests whose names contain it
  bench [FILTER]            benchmarks of the release build; FILTER is the name of a measurement
  soak [FILTER]             the fault and crash tests at full length (`test` runs a tenth of them);
                            prints the figures of docs/reliability.md
  clients [FILTER]          install real command-line agents (Claude Code, Codex, Gemini CLI, opencode) from the npm registry
                            into the cache folder; each sits in a debate against a scripted model server
  deny                      cargo-deny with all its checks, security advisories included; installs it on first use
  dist [DIR]                the files of a release: a software bill of materials (CycloneDX) and checksums
  help                      this text

Examples:
  cargo xtask try \"Should we rent or buy a car?\" --rounds 1..2
  cargo xtask check                  before a commit: formatting, lints, fast tests
  cargo xtask check resume           while working: the tests with `resume` in their names
  cargo xtask test                   before a push: the same as CI
  cargo xtask test c16_              some tests, including those of the embedded model
  cargo xtask bench startup
  cargo xtask soak crashes::
  cargo xtask clients codex
  cargo xtask deny                   before a release: known vulnerabilities in dependencies
  cargo xtask dist out               writes out/roundtable.cdx.json and out/SHA256SUMS

Missing tools are installed with apt-get (as root or with passwordless sudo), pip or cargo (into the cache folder), or rustup.

Environment variables:
  XTASK_INSTALL=pip,rustup   install with these methods only; `none` installs nothing
  CARGO_TARGET_DIR=DIR       build in DIR; the default is roundtable/target in the cache folder, shared by all clones";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Try {
        question: OsString,
        options: Vec<OsString>,
    },
    /// With filters, like the next four.
    Check(Vec<OsString>),
    Test(Vec<OsString>),
    Bench(Vec<OsString>),
    Soak(Vec<OsString>),
    Clients(Vec<OsString>),
    Deny,
    /// The output folder, if it is not the default one.
    Dist(Option<OsString>),
    Help,
}

impl Task {
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut arguments = arguments.into_iter();
        let Some(name) = arguments.next() else {
            return Ok(Self::Help);
        };
        let name = name.to_string_lossy();
        let rest: Vec<OsString> = arguments.collect();
        match &*name {
            "try" => Ok(Self::parse_try(rest)),
            "check" => Ok(Self::Check(rest)),
            "test" => Ok(Self::Test(rest)),
            "bench" => Ok(Self::Bench(rest)),
            "soak" => Ok(Self::Soak(rest)),
            "clients" => Ok(Self::Clients(rest)),
            "deny" => Ok(Self::Deny),
            "dist" => Ok(Self::Dist(rest.into_iter().next())),
            "help" | "--help" | "-h" => Ok(Self::Help),
            _ => Err(format!("unknown task `{name}`")),
        }
    }

    /// The question comes first; if the first argument is an option, the default question is used. A lone `-` is a
    /// question too: `ask` reads it from standard input.
    fn parse_try(mut rest: Vec<OsString>) -> Self {
        let is_question = rest
            .first()
            .is_some_and(|first| first == "-" || !first.as_encoded_bytes().starts_with(b"-"));
        let question = if is_question {
            rest.remove(0)
        } else {
            DEFAULT_QUESTION.into()
        };
        Self::Try {
            question,
            options: rest,
        }
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
