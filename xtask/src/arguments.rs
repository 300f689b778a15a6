//! What was asked for on the command line.
//!
//! Only the first word is ours; the rest belongs to `roundtable ask` or to the test runner and is handed on untouched.

use std::ffi::OsString;
use std::fmt;

/// The question `try` takes when none is given: one that has two sides and needs no knowledge of the day.
pub(crate) const DEFAULT_QUESTION: &str =
    "Should a team of five split its web shop into microservices?";

pub(crate) const HELP: &str = "\
cargo xtask TASK

  try [QUESTION] [OPTIONS…]  build roundtable and let a panel debate QUESTION; OPTIONS go to `roundtable ask`
  test [FILTER…]             everything CI runs: formatting, lints, all tests, the build without the embedded model;
                             with a FILTER only the tests whose names contain it
  check                      the fast part: formatting, lints and the tests of core and engine, without the embedded model
  bench [FILTER…]            the benchmarks, on the program as it is shipped
  soak [FILTER…]             the tests of endurance with all they have (`test` runs a tenth): failing models, kills at every
                             position, stores that go away; prints the figures of docs/reliability.md
  help                       this text

Missing tools are installed with apt-get (as root or through passwordless sudo), pip (into the cache folder) or rustup.
  XTASK_INSTALL=pip,rustup   allow only these ways; `none` allows none
  CARGO_TARGET_DIR=DIR       build there instead of roundtable/target in the cache folder, which all clones share";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Try {
        question: OsString,
        options: Vec<OsString>,
    },
    Test {
        filters: Vec<OsString>,
    },
    Check,
    Bench {
        filters: Vec<OsString>,
    },
    Soak {
        filters: Vec<OsString>,
    },
    Help,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UsageError {
    UnknownTask(String),
    TakesNothing { task: &'static str, given: String },
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTask(name) => write!(f, "there is no task `{name}`"),
            Self::TakesNothing { task, given } => {
                write!(f, "`{task}` takes no arguments, but was given `{given}`")
            }
        }
    }
}

impl Task {
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, UsageError> {
        let mut arguments = arguments.into_iter();
        let Some(name) = arguments.next() else {
            return Ok(Self::Help);
        };
        let name = name.to_string_lossy();
        let rest: Vec<OsString> = arguments.collect();
        match &*name {
            "try" => Ok(Self::parse_try(rest)),
            "test" => Ok(Self::Test { filters: rest }),
            "bench" => Ok(Self::Bench { filters: rest }),
            "soak" => Ok(Self::Soak { filters: rest }),
            "check" => match rest.first() {
                None => Ok(Self::Check),
                Some(given) => Err(UsageError::TakesNothing {
                    task: "check",
                    given: given.to_string_lossy().into_owned(),
                }),
            },
            "help" | "--help" | "-h" => Ok(Self::Help),
            _ => Err(UsageError::UnknownTask(name.into_owned())),
        }
    }

    /// The question comes first; an option in its place means that the default question is wanted. A lone `-` is a
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
