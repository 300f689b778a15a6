//! Long output on a terminal goes through a pager, as in git: `$PAGER`, otherwise `less`, which prints a text that fits on the
//! screen and ends.

use std::io::Write;
use std::process::{Command, Stdio};

use anstream::{AutoStream, ColorChoice};

use super::output;
use crate::config::Environment;
use crate::failure::Failure;

/// Ends if all fits on a screen, keeps colours, and leaves the text on the screen.
const LESS_OPTIONS: &str = "FRX";

/// Prints a text, on a terminal through a pager if there is one.
pub(super) fn print(environment: &Environment, text: &str) -> Result<(), Failure> {
    if output::stdout_is_terminal()
        && let Some(pager) = command(environment)
        && page(pager, text)
    {
        return Ok(());
    }
    output::write_all(text)
}

/// `None` if the user wants no pager: `PAGER=cat`, as is usual.
fn command(environment: &Environment) -> Option<Command> {
    let mut words = environment
        .variable("PAGER")
        .unwrap_or("less")
        .split_whitespace();
    let program = words.next().filter(|program| *program != "cat")?;
    let mut command = Command::new(program);
    command.args(words);
    if environment.variable("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    Some(command)
}

/// Whether a pager has shown the text. A user who quits early has seen enough.
fn page(mut command: Command, text: &str) -> bool {
    let Ok(mut pager) = command.stdin(Stdio::piped()).spawn() else {
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
