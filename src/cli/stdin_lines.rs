//! Text typed on standard input, for the seats between rounds and for decisions.

use std::io::{self, BufRead, ErrorKind, IsTerminal, Read};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::output;
use crate::failure::Failure;

/// Input that arrives while a person types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// The line so far.
    Draft(String),
    Line(String),
}

pub(super) struct StdinLines {
    typed: UnboundedReceiver<Typed>,
}

impl StdinLines {
    /// Reads in a thread of its own: a pending read must not keep the program from ending, and a line typed during the
    /// debate must not be lost to a later prompt.
    pub(super) fn start() -> Self {
        let (sender, typed) = unbounded_channel();
        std::thread::spawn(move || {
            let mut editor = LineEditor::default();
            let mut buffer = [0; 1024];
            loop {
                let count = match io::stdin().read(&mut buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Ok(count) => count,
                    Err(_) => 0,
                };
                let new = if count == 0 {
                    editor.end()
                } else {
                    editor.feed(&buffer[..count])
                };
                let is_heard = new.into_iter().all(|typed| sender.send(typed).is_ok());
                if count == 0 || !is_heard {
                    break;
                }
            }
        });
        Self { typed }
    }

    #[cfg(test)]
    pub(super) fn from_lines(given: &[&str]) -> Self {
        let (sender, typed) = unbounded_channel();
        for line in given {
            sender.send(Typed::Line((*line).to_owned())).unwrap();
        }
        Self { typed }
    }

    /// The next line, trimmed; `None` at the end of input.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            if let Typed::Line(line) = self.typed().await? {
                return Some(line);
            }
        }
    }

    /// The next change of the line, or the next line, trimmed; `None` at the end of input.
    pub(super) async fn typed(&mut self) -> Option<Typed> {
        let typed = self.typed.recv().await?;
        Some(match typed {
            Typed::Line(line) => Typed::Line(line.trim().to_owned()),
            Typed::Draft(_) => typed,
        })
    }
}

/// Makes lines of keys. A terminal in its usual mode sends whole lines, and one in [`KeyMode`] every key.
#[derive(Debug, Default)]
struct LineEditor {
    line: Vec<u8>,
    /// In the middle of an escape sequence, such as that of an arrow key.
    is_escaped: bool,
    /// The next line feed belongs to the line before it.
    was_return: bool,
}

impl LineEditor {
    fn feed(&mut self, bytes: &[u8]) -> Vec<Typed> {
        const ESCAPE: u8 = 0x1b;
        const BACKSPACE: [u8; 2] = [0x08, 0x7f];
        const CLEAR: u8 = 0x15;
        let mut typed = Vec::new();
        for byte in bytes.iter().copied() {
            let was_return = std::mem::take(&mut self.was_return);
            match byte {
                // `ESC [ A` and `ESC [ 3 ~`
                b'[' if self.is_escaped => {}
                _ if self.is_escaped => {
                    self.is_escaped = !(byte.is_ascii_alphabetic() || byte == b'~');
                }
                b'\n' if was_return => {}
                b'\n' | b'\r' => {
                    self.was_return = byte == b'\r';
                    typed.push(Typed::Line(self.take()));
                }
                ESCAPE => self.is_escaped = true,
                CLEAR => self.line.clear(),
                _ if BACKSPACE.contains(&byte) => self.erase(),
                b'\t' => self.line.push(b' '),
                _ if byte.is_ascii_control() => {}
                _ => self.line.push(byte),
            }
        }
        let ends_line = matches!(typed.last(), Some(Typed::Line(_))) && self.line.is_empty();
        if !ends_line {
            typed.push(Typed::Draft(self.text()));
        }
        typed
    }

    /// The rest at the end of input.
    fn end(&mut self) -> Vec<Typed> {
        let rest = self.take();
        let rest = (!rest.is_empty()).then_some(Typed::Line(rest));
        rest.into_iter().collect()
    }

    fn erase(&mut self) {
        // The bytes of a character after the first begin with 10.
        while self.line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
    }

    fn take(&mut self) -> String {
        let text = self.text();
        self.line.clear();
        text
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.line).into_owned()
    }
}

/// While it exists, the terminal sends every key at once and does not echo it: the program draws the line itself, next to what
/// changes on the screen. Ctrl-C still interrupts.
pub(super) struct KeyMode {
    #[cfg(unix)]
    before: rustix::termios::Termios,
}

impl KeyMode {
    /// `None` if standard input is not a terminal that can do it.
    #[cfg(unix)]
    pub(super) fn start() -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        if !is_interactive() {
            return None;
        }
        let before = tcgetattr(io::stdin()).ok()?;
        let mut keys = before.clone();
        keys.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &keys).ok()?;
        Some(Self { before })
    }

    #[cfg(not(unix))]
    pub(super) fn start() -> Option<Self> {
        None
    }
}

#[cfg(unix)]
impl Drop for KeyMode {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
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

#[cfg(test)]
#[path = "stdin_lines_tests.rs"]
mod tests;
