//! The cargo commands that the tasks run: where they build, with which surroundings, and what became of them.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::folders::Folders;
use crate::surroundings::Surroundings;
use crate::{machine, say};

pub(crate) struct Cargo {
    folders: Folders,
    surroundings: Surroundings,
}

/// One cargo command with a name that people read.
pub(crate) struct Step {
    title: &'static str,
    patience: Option<&'static str>,
    command: Command,
}

impl Cargo {
    pub(crate) fn new(folders: Folders, surroundings: Surroundings) -> Self {
        Self {
            folders,
            surroundings,
        }
    }

    /// A cargo command in the workspace; the arguments as one would type them, none with a space in it.
    pub(crate) fn step(&self, title: &'static str, arguments: &str) -> Step {
        let mut command = self.command();
        command
            .current_dir(&self.folders.workspace)
            .args(arguments.split_whitespace());
        Step {
            title,
            patience: None,
            command,
        }
    }

    /// A cargo command that runs the program: in the folder the user is in, because that is where it looks for its
    /// configuration and for files it is given.
    pub(crate) fn run_roundtable<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a OsString>,
    ) -> Command {
        let mut command = self.command();
        command
            .args([
                "run",
                "--quiet",
                "--profile",
                "quick",
                "--bin",
                "roundtable",
                "--manifest-path",
            ])
            .arg(self.folders.workspace.join("Cargo.toml"))
            .arg("--")
            .args(arguments);
        command
    }

    /// The program as it is shipped, once it is built.
    pub(crate) fn released(&self) -> PathBuf {
        let name = format!("roundtable{}", std::env::consts::EXE_SUFFIX);
        self.folders.built().join("release").join(name)
    }

    /// Whether this cargo has the better test runner.
    pub(crate) fn has_nextest() -> bool {
        machine::runs(machine::cargo(), &["nextest", "--version"])
    }

    fn command(&self) -> Command {
        let mut command = Command::new(machine::cargo());
        self.surroundings.apply(&mut command);
        if let Some(target) = &self.folders.target {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }
}

impl Step {
    pub(crate) fn with(mut self, arguments: &[OsString]) -> Self {
        self.command.args(arguments);
        self
    }

    /// With this in its environment.
    pub(crate) fn under(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Says beforehand how long it may take, so that nobody stops it for looking stuck.
    pub(crate) fn which_may_take(mut self, patience: &'static str) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Runs it with its output in sight; returns whether it succeeded.
    pub(crate) fn succeeds(&mut self) -> bool {
        match self.patience {
            Some(patience) => say(&format!("{} ({patience})", self.title)),
            None => say(self.title),
        }
        match self.command.status() {
            Ok(status) => status.success(),
            Err(error) => {
                say(&format!("cargo did not start: {error}"));
                false
            }
        }
    }
}

/// Runs every step even if one fails, since whoever mends one wants to know of the others; fails if any did.
pub(crate) fn run_all(steps: Vec<Step>) -> ExitCode {
    let begin = Instant::now();
    let mut failed = Vec::new();
    for mut step in steps {
        if !step.succeeds() {
            failed.push(step.title);
        }
    }
    let time = in_words(begin.elapsed());
    if failed.is_empty() {
        say(&format!("all of it passed, in {time}"));
        return ExitCode::SUCCESS;
    }
    say(&format!("failed after {time}:"));
    for title in failed {
        say(&format!("  {title}"));
    }
    ExitCode::FAILURE
}

/// Ends this process by becoming `command`, so that signals, the terminal and the exit code are its own.
///
/// A parent that waited instead would die of the Ctrl-C that its child uses to save and to say how to go on.
#[cfg(unix)]
pub(crate) fn become_it(mut command: Command) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    let error = command.exec();
    say(&format!("cargo did not start: {error}"));
    ExitCode::FAILURE
}

#[cfg(not(unix))]
pub(crate) fn become_it(mut command: Command) -> ExitCode {
    match command.status() {
        Ok(status) => status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            say(&format!("cargo did not start: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
