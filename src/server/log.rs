//! The server log: one timestamped line per message on standard error. Never contains questions, model output or
//! secrets.

use std::io::Write;

use crate::clock;

pub(super) fn note(text: &str) {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{} {line}", clock::stamp(clock::now()));
}
