//! What is typed, line by line, for whoever listens at the moment: the seats between rounds, a question that waits.

use std::io::{self, IsTerminal};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

pub(super) struct Typed {
    lines: UnboundedReceiver<String>,
}

impl Typed {
    /// From now on. It is read in a thread of its own: a line that is never typed must not hold up the end of the program, and
    /// one that was typed to the debate must not be lost to a question after it.
    pub(super) fn listening() -> Self {
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
    pub(super) fn of(typed: &[&str]) -> Self {
        let (sender, lines) = unbounded_channel();
        for line in typed {
            sender.send((*line).to_owned()).unwrap();
        }
        Self { lines }
    }

    /// `None` when nobody will type any more.
    pub(super) async fn line(&mut self) -> Option<String> {
        self.lines.recv().await.map(|line| line.trim().to_owned())
    }
}

/// Whether somebody sits there who can be asked and can answer.
pub(super) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
