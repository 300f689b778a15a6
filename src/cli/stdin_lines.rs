//! Lines typed on standard input, for the seats between rounds and for decisions.

use std::io::{self, BufRead, IsTerminal};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::output;
use crate::failure::Failure;

pub(super) struct StdinLines {
    lines: UnboundedReceiver<String>,
}

impl StdinLines {
    /// Reads in a thread of its own: a pending read must not keep the program from ending, and a line typed during the
    /// debate must not be lost to a later prompt.
    pub(super) fn start() -> Self {
        let (sender, lines) = unbounded_channel();
        std::thread::spawn(move || {
            for line in io::stdin().lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { lines }
    }

    #[cfg(test)]
    pub(super) fn from_lines(given: &[&str]) -> Self {
        let (sender, lines) = unbounded_channel();
        for line in given {
            sender.send((*line).to_owned()).unwrap();
        }
        Self { lines }
    }

    /// The next line, trimmed; `None` at the end of input.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await.map(|line| line.trim().to_owned())
    }
}

/// Asks once for consent; anything but yes means no. `action` is what `--yes` would do without asking.
pub(super) fn confirm(question: &str, action: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "cannot ask for confirmation: standard input is not a terminal. Add --yes to {action}"
        )));
    }
    output::stream(&format!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::other(format!("cannot read standard input: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Whether the user can be asked: input and prompts are on a terminal.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
