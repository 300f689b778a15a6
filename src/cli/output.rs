//! Output to a terminal, a pipe or a file. Colours are for terminals only. A closed pipe is not an error; any other failed write
//! to standard output is one when the program ends (see [`write_failure`]).

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use console::Term;
use roundtable_core::characters::{escape_json, is_deceptive};
use serde::Serialize;

use crate::failure::Failure;
pub(crate) use crate::format::{cost, duration, grouped, short};
use crate::render::Roles;

use super::display::{document, wrap};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Colours of the seats in the order of the cast; larger casts reuse them.
const SEAT_COLOURS: [AnsiColor; 8] = [
    AnsiColor::Blue,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Cyan,
    AnsiColor::BrightBlue,
    AnsiColor::BrightMagenta,
    AnsiColor::BrightGreen,
    AnsiColor::BrightCyan,
];

/// The style of the seat at this position in the cast.
pub(crate) fn seat_style(index: usize) -> Style {
    SEAT_COLOURS[index % SEAT_COLOURS.len()].on_default().bold()
}

pub(crate) fn role_style(roles: &Roles, role: &str) -> Style {
    roles.index(role).map_or(BOLD, seat_style)
}

/// The title of a seat in its colour.
pub(crate) fn seat(roles: &Roles, role: &str) -> String {
    painted(role_style(roles, role), &harmless(&roles.title(role)))
}

pub(crate) fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// When output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// For everything that this process prints from now on.
    pub(super) fn apply(self) {
        let choice = match self {
            Self::Auto => return,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// The first error of a write to standard output.
static WRITE_FAILURE: OnceLock<String> = OnceLock::new();

/// The failure of a command whose output could not be written.
pub(crate) fn write_failure() -> Option<Failure> {
    let error = WRITE_FAILURE.get()?;
    Some(Failure::other(format!(
        "cannot write to standard output: {error}"
    )))
}

/// To standard output. That the reader has closed the pipe is not an error; any other error fails the command at its end.
pub(crate) fn print(text: &str) {
    let _ = write_all(text);
}

/// To standard output. The reader of a pipe may have closed it; any other error is a failure, because the result is lost.
pub(crate) fn write_all(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = WRITE_FAILURE.set(error.to_string());
    }
    write_failure().map_or(Ok(()), Err)
}

pub(crate) fn line(text: &str) {
    print(&format!("{text}\n"));
}

/// Lines to standard error, on a terminal wrapped between words.
pub(crate) fn note(text: &str) {
    let mut out = anstream::stderr().lock();
    if io::stderr().is_terminal() {
        let _ = writeln!(out, "{}", wrap::fit(text, width()));
    } else {
        let _ = writeln!(out, "{text}");
    }
}

/// To standard error, without a line break.
pub(crate) fn stream(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Calls the user back to the terminal.
pub(crate) fn bell() {
    if stderr_is_terminal() {
        stream("\u{7}");
    }
}

pub(crate) fn error(message: &str) {
    note(&format!("{} {message}", painted(BAD, "error:")));
}

pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    write_all(&json_text(value)?)
}

/// JSON on one line, safe for a terminal.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::other(format!("cannot write JSON: {error}")))?;
    write_all(&(escape_json(text) + "\n"))
}

/// Indented JSON with a line break at the end, safe for a terminal.
pub(crate) fn json_text(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| escape_json(text) + "\n")
        .map_err(|error| Failure::other(format!("cannot write JSON: {error}")))
}

/// An array as [`json`] prints it, element by element.
#[derive(Debug, Default)]
pub(crate) struct JsonArray {
    has_elements: bool,
}

impl JsonArray {
    pub(crate) fn push(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let before = if self.has_elements { ",\n" } else { "[\n" };
        self.has_elements = true;
        // Line breaks within texts are escaped in JSON.
        let text = json_text(value)?.trim_end().replace('\n', "\n  ");
        write_all(&format!("{before}  {text}"))
    }

    pub(crate) fn end(self) -> Result<(), Failure> {
        write_all(if self.has_elements { "\n]\n" } else { "[]\n" })
    }
}

/// To the file, or to standard output if there is none.
pub(crate) fn write_to(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    let Some(path) = file else {
        print(text);
        return Ok(());
    };
    std::fs::write(path, text)
        .map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))?;
    note(&format!("Wrote {}", path.display()));
    Ok(())
}

/// Short enough to type: commands accept a prefix of an id.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Markdown, rendered on a terminal and unchanged elsewhere. Control characters are removed.
pub(crate) fn markdown(text: &str) {
    let _ = answer(text);
}

/// Like [`markdown`], for a result that must not be lost.
pub(crate) fn answer(text: &str) -> Result<(), Failure> {
    write_all(&format!("{}\n", rendered_answer(text)))
}

/// Markdown for standard output: rendered on a terminal, unchanged elsewhere.
pub(crate) fn rendered_answer(text: &str) -> String {
    let text = harmless(text);
    if stdout_is_terminal() {
        document::render(&compact(&text), width().min(100))
    } else {
        text
    }
}

/// Without empty lines below headings: on a terminal the whole answer should fit on the screen.
fn compact(markdown: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in markdown.trim_end().lines() {
        let is_below_heading = lines.last().is_some_and(|last| last.starts_with('#'));
        if !(is_below_heading && line.trim().is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// The width of the terminal, even if one of the two streams is redirected.
pub(crate) fn width() -> usize {
    let terminals = [Term::stdout(), Term::stderr()];
    let size = terminals.iter().find_map(Term::size_checked);
    size.map_or(80, |(_, columns)| usize::from(columns).clamp(40, 200))
}

/// Removes control characters and direction controls: text from a model must not move the cursor, set titles, hide text or
/// reorder it.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().filter(|c| !is_deceptive(*c)).collect()
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
