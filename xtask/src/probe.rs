//! Runs programs to find out what is installed.
//!
//! A program counts as installed only if it runs: a file on PATH may be a version manager's shim for something that is
//! not installed.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

/// Whether `program` starts and exits with 0. Its output is discarded.
pub(crate) fn runs(program: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The first line of the standard output of `program`; `None` if it fails or the line is empty.
pub(crate) fn first_line(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let line = String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()?
        .trim()
        .to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}

/// Runs `command` with its output captured. On failure returns the last lines, where tools report the error.
pub(crate) fn run_captured(command: &mut Command) -> Result<(), String> {
    const MAX_LINES: usize = 12;
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let bytes = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(MAX_LINES);
    Err(format!(
        "{}\n{}",
        output.status,
        lines.get(first..).unwrap_or_default().join("\n")
    ))
}

/// The cargo that started xtask, so that everything is built with the same toolchain.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
