//! Long output on a terminal goes through a pager, as in git: `less`, which prints a text that fits on the screen and ends.

use std::io::Write;
use std::process::{Command, Stdio};

use anstream::{AutoStream, ColorChoice};

use super::output;
use crate::failure::Failure;

/// Prints a text, on a terminal through a pager if there is one.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    if !output::stdout_is_terminal() || !page(text) {
        return output::write_all(text);
    }
    Ok(())
}

/// Whether a pager has shown the text. A user who quits early has seen enough.
fn page(text: &str) -> bool {
    let pager = Command::new("less")
        // Ends if all fits on a screen, keeps colours, and leaves the text on the screen.
        .args(["-F", "-R", "-X"])
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut pager) = pager else {
        return false;
    };
    let has_colours = AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
    let plain = anstream::adapter::strip_str(text);
    if let Some(mut stdin) = pager.stdin.take() {
        let _ = if has_colours {
            stdin.write_all(text.as_bytes())
        } else {
            stdin.write_all(plain.to_string().as_bytes())
        };
    }
    pager.wait().is_ok_and(|status| status.success())
}
