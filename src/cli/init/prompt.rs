//! Questions on the terminal: a default for every one, a reason for every invalid answer, and at most three attempts.

use super::super::display::wrap;
use super::super::output;
use super::super::stdin_lines::StdinLines;
use crate::config::{ConfigError, NameError};
use crate::failure::Failure;

pub(super) const MAX_ATTEMPTS: usize = 3;

/// Why the questions ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// Ctrl-C, or the end of the input.
    Left,
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<ConfigError> for Stop {
    fn from(error: ConfigError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<NameError> for Stop {
    fn from(error: NameError) -> Self {
        Self::Failed(error.into())
    }
}

pub(super) struct Prompt {
    lines: StdinLines,
}

impl Prompt {
    pub(super) fn start() -> Self {
        Self {
            lines: StdinLines::start(),
        }
    }

    /// Asks until `parse` accepts the answer.
    pub(super) async fn ask<T>(
        &mut self,
        question: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Stop> {
        for _ in 0..MAX_ATTEMPTS {
            let question = wrap::fit(question, output::width());
            output::stream(&format!("{question} "));
            let line = self.lines.next().await.ok_or(Stop::Left)?;
            match parse(&line) {
                Ok(answer) => return Ok(answer),
                Err(reason) => output::note(&output::harmless(&reason)),
            }
        }
        Err(Stop::Failed(Failure::usage(format!(
            "no valid answer after {MAX_ATTEMPTS} attempts. Nothing was changed"
        ))))
    }

    pub(super) async fn confirm(&mut self, question: &str, default: bool) -> Result<bool, Stop> {
        self.ask(question, |line| yes_or_no(line, default)).await
    }
}

fn yes_or_no(line: &str, default: bool) -> Result<bool, String> {
    match line.to_lowercase().as_str() {
        "" => Ok(default),
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        other => Err(format!("'{other}' is not an answer: enter y or n.")),
    }
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
