//! What the server tells whoever runs it: one line each on standard error, with the time. Never a question's text, a
//! model's words, or a secret.

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
