//! Errors in the command line, in plain words.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::output;
use crate::failure::Code;

/// Messages of the number parsers, and what to say instead.
const PLAIN: [(&str, &str); 7] = [
    ("invalid digit found in string", "expected a whole number"),
    (
        "cannot parse integer from empty string",
        "expected a whole number",
    ),
    (
        "number too large to fit in target type",
        "the number is too large",
    ),
    (
        "number too small to fit in target type",
        "the number is too small",
    ),
    ("invalid float literal", "expected a number"),
    ("cannot parse float from empty string", "expected a number"),
    ("0 is not in 1..18446744073709551615", "expected at least 1"),
];

/// Commands whose first argument is a question.
const QUESTIONS: [&str; 4] = ["ask", "debate", "panel", "forecast"];

/// A first argument of several words is a question: `roundtable "Is it good?"` means `roundtable ask "Is it good?"`.
pub(super) fn with_default_command(mut given: Vec<OsString>) -> Vec<OsString> {
    let first = given.get(1).and_then(|word| word.to_str());
    let is_question =
        |word: &str| !word.starts_with('-') && word.trim().contains(char::is_whitespace);
    if first.is_some_and(is_question) {
        given.insert(1, QUESTIONS[0].into());
    }
    given
}

/// Prints help, or the error with its hint, and returns the exit code.
pub(super) fn report(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let mut out = anstream::stdout().lock();
        let _ = write!(out, "{}", error.render().ansi());
        return ExitCode::SUCCESS;
    }
    if let Some(command) = unquoted_question(error) {
        output::error(&format!(
            "the question has several words: put it in quotes, as in `roundtable {command} \"Is it good?\"`"
        ));
        return Code::Usage.into();
    }
    let mut text = error.render().ansi().to_string();
    for (from, to) in PLAIN {
        text = text.replace(from, to);
    }
    let mut out = anstream::stderr().lock();
    let _ = write!(out, "{text}");
    Code::Usage.into()
}

/// The command, if the error is a further word after a question.
fn unquoted_question(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let command = std::env::args().nth(1)?;
    (!word.starts_with('-') && QUESTIONS.contains(&command.as_str())).then_some(command)
}
