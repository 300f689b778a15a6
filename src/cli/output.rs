//! Writing to the terminal or a pipe. Colours only on a terminal; a reader that goes away ends nothing badly.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::failure::Failure;
pub(crate) use crate::format::{duration, grouped, money, short};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// One colour per role, the same everywhere.
pub(crate) fn role(seat: &str) -> Style {
    match seat {
        "proposer" => AnsiColor::Blue.on_default().bold(),
        "skeptic" => AnsiColor::Magenta.on_default().bold(),
        "synthesizer" => AnsiColor::Green.on_default().bold(),
        _ => AnsiColor::Cyan.on_default().bold(),
    }
}

pub(crate) fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// To standard output. What a closed pipe does not want is not written.
pub(crate) fn print(text: &str) {
    let mut out = anstream::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

pub(crate) fn line(text: &str) {
    print(&format!("{text}\n"));
}

/// To standard error.
pub(crate) fn note(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// To standard error, as it is.
pub(crate) fn stream(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

pub(crate) fn error(message: &str) {
    note(&format!("{} {message}", painted(BAD, "error:")));
}

pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::other(format!("cannot write JSON: {error}")))?;
    line(&text);
    Ok(())
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Markdown, rendered on a terminal and as it is elsewhere. What a model wrote cannot steer the terminal.
pub(crate) fn markdown(text: &str) {
    let text = harmless(text);
    if stdout_is_terminal() {
        let width = width().min(100);
        let skin = termimad::MadSkin::default();
        let rendered = skin.text(&text, Some(width));
        print(&format!("{rendered}\n"));
    } else {
        line(&text);
    }
}

pub(crate) fn width() -> usize {
    let (columns, _) = termimad::terminal_size();
    usize::from(columns).clamp(40, 200)
}

/// Without control characters: a model's words must not move the cursor, set titles or hide text.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
