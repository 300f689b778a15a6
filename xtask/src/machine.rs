//! Asking the machine short questions by running its programs.
//!
//! A program counts only if it runs: a file of that name on PATH may be a version manager's shim for something that is
//! not installed.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Whether `program` starts and ends well, all output discarded.
pub(crate) fn runs(program: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The first line that `program` prints, if it ends well and prints one.
pub(crate) fn answer(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
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

/// Runs `command` out of sight; on failure returns the end of what it wrote, which is where tools say what went wrong.
pub(crate) fn run_quietly(command: &mut Command) -> Result<(), String> {
    const LINES_WORTH_SHOWING: usize = 12;
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} did not start: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let written = [output.stdout, output.stderr].concat();
    let written = String::from_utf8_lossy(&written);
    let lines: Vec<&str> = written
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(LINES_WORTH_SHOWING);
    Err(format!(
        "{}\n{}",
        output.status,
        lines.get(first..).unwrap_or_default().join("\n")
    ))
}

/// The cargo that runs us, so that the same toolchain builds everything.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
