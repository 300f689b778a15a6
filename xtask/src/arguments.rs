//! Command-line arguments.
//!
//! Only the first argument is parsed here; the rest is passed unchanged to `roundtable ask` or to the test runner.

use std::ffi::OsString;

use crate::static_build::Variant;

/// The question for `try` without QUESTION: two-sided, and answerable without current events.
pub(crate) const DEFAULT_QUESTION: &str =
    "Should a team of five split its web shop into microservices?";

pub(crate) const HELP: &str = "\
Usage: cargo xtask TASK [ARGUMENTS]

Tasks:
  try [QUESTION] [OPTIONS]  build Roundtable and run a debate on QUESTION; OPTIONS are passed to `roundtable ask`.
                            With an API key or an Ollama model, without the embedded model unless --embedded is given
  check [FILTER]            fast checks without compiling C++: formatting, lints, tests of core, engine and xtask;
                            with FILTER only the tests whose names contain it, of everything but the embedded model
  test [FILTER]             everything CI runs: formatting, lints, all tests, the build without the embedded model;
                            with FILTER only the tests whose names contain it
  bench [FILTER]            benchmarks of the release build; FILTER is the name of a measurement
  soak [FILTER]             the fault and crash tests at full length (`test` runs a tenth of them);
                            prints the figures of docs/reliability.md
  clients [FILTER]          install real command-line agents (Claude Code, Codex, Gemini CLI, opencode) from the npm registry
                            into the cache folder; each sits in a debate against a scripted model server. Also MCP clients
                            (Python, TypeScript, inspector, conformance suite) against the MCP server
  shots [DIR]               screenshots of every page, on a desktop and a phone, light and dark, into DIR (default: shots
                            in the target folder), and axe-core on each; fails on a serious finding
  deny                      cargo-deny with all its checks, security advisories included; installs it on first use
  dist [DIR] [--check]      the files of a release: static Linux binaries, packages (tar.gz, deb, wheel, npm), install.sh,
                            a software bill of materials and checksums; --check installs and runs each of them;
                            --profile quick builds faster, larger programs for trying it out;
                            --only full or --only slim builds one program, with or without the embedded model
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
  cargo xtask shots out              look at every page after a change
  cargo xtask deny                   before a release: known vulnerabilities in dependencies
  cargo xtask dist out --check       writes the files of a release into `out`, then installs and runs each of them

Missing tools are installed with apt-get (as root or with passwordless sudo), pip or cargo (into the cache folder), or rustup.

Environment variables:
  XTASK_INSTALL=pip,rustup   install with these methods only; `none` installs nothing
  CARGO_TARGET_DIR=DIR       build in DIR; the default is roundtable/target in the cache folder, shared by all clones";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Try {
        question: OsString,
        options: Vec<OsString>,
        /// `--embedded`: build the embedded model even if there is another one.
        embedded: bool,
    },
    /// With filters, like the next four.
    Check(Vec<OsString>),
    Test(Vec<OsString>),
    Bench(Vec<OsString>),
    Soak(Vec<OsString>),
    Clients(Vec<OsString>),
    /// Into this folder, if it is not the default one.
    Shots(Option<OsString>),
    Deny,
    Dist(DistOptions),
    Help,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DistOptions {
    /// If it is not the default one.
    pub(crate) folder: Option<OsString>,
    pub(crate) profile: String,
    /// Build only this program, and no packages.
    pub(crate) only: Option<Variant>,
    /// Whether to install and run what was made.
    pub(crate) check: bool,
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
            "shots" => Ok(Self::Shots(rest.into_iter().next())),
            "deny" => Ok(Self::Deny),
            "dist" => Self::parse_dist(rest),
            "help" | "--help" | "-h" => Ok(Self::Help),
            _ => Err(format!("unknown task `{name}`")),
        }
    }

    fn parse_dist(rest: Vec<OsString>) -> Result<Self, String> {
        let mut options = DistOptions {
            folder: None,
            profile: "release".to_owned(),
            only: None,
            check: false,
        };
        let mut rest = rest.into_iter();
        while let Some(argument) = rest.next() {
            match &*argument.to_string_lossy() {
                "--check" => options.check = true,
                "--profile" => {
                    let profile = rest.next().ok_or("--profile needs a name, such as quick")?;
                    options.profile = profile.to_string_lossy().into_owned();
                }
                "--only" => {
                    let name = rest.next().unwrap_or_default();
                    let variant = Variant::ALL.into_iter().find(|known| name == known.name());
                    options.only = Some(variant.ok_or("--only is full or slim")?);
                }
                option if option.starts_with('-') => {
                    return Err(format!("unknown option `{option}` of `dist`"));
                }
                _ if options.folder.is_none() => options.folder = Some(argument),
                extra => return Err(format!("unexpected argument `{extra}` of `dist`")),
            }
        }
        Ok(Self::Dist(options))
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
        let given = rest.len();
        rest.retain(|option| option != "--embedded");
        Self::Try {
            question,
            embedded: rest.len() < given,
            options: rest,
        }
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
