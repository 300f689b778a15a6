//! The cargo commands that tasks run: target folder, environment, exit status.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::environment::Environment;
use crate::folders::Folders;
use crate::{log, probe};

pub(crate) struct Cargo {
    folders: Folders,
    environment: Environment,
}

/// One cargo command, or a check of our own, with a title for the log.
pub(crate) struct Step {
    title: &'static str,
    duration_hint: Option<&'static str>,
    work: Work,
}

enum Work {
    Command(Command),
    Check(Box<dyn FnMut() -> Result<(), String>>),
}

impl Cargo {
    pub(crate) fn new(folders: Folders, environment: Environment) -> Self {
        Self {
            folders,
            environment,
        }
    }

    /// A cargo command in the workspace. `arguments` are separated by spaces; none may contain one.
    pub(crate) fn step(&self, title: &'static str, arguments: &str) -> Step {
        let mut command = self.in_workspace();
        command.args(arguments.split_whitespace());
        Step::new(title, Work::Command(command))
    }

    /// Cargo in the workspace, without arguments.
    pub(crate) fn in_workspace(&self) -> Command {
        let mut command = self.command();
        command.current_dir(&self.folders.workspace);
        command
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.folders.workspace
    }

    pub(crate) fn target_folder(&self) -> PathBuf {
        self.folders.target_folder()
    }

    /// `cargo run` of the program, in the user's current folder: the program resolves its configuration and file arguments
    /// relative to it. `features` are those it was built with.
    pub(crate) fn run_roundtable<'a>(
        &self,
        features: &str,
        arguments: impl IntoIterator<Item = &'a OsString>,
    ) -> Command {
        let options = "run --quiet --profile quick --bin roundtable --manifest-path";
        let mut command = self.command();
        command
            .args(options.split(' '))
            .arg(self.folders.workspace.join("Cargo.toml"))
            .args(features.split_whitespace())
            .arg("--")
            .args(arguments);
        command
    }

    /// The path of the release build.
    pub(crate) fn release_binary(&self) -> PathBuf {
        let name = format!("roundtable{}", std::env::consts::EXE_SUFFIX);
        self.folders.target_folder().join("release").join(name)
    }

    /// Whether `cargo nextest` is installed; the fallback is `cargo test`.
    pub(crate) fn has_nextest() -> bool {
        probe::runs(probe::cargo(), &["nextest", "--version"])
    }

    fn command(&self) -> Command {
        let mut command = Command::new(probe::cargo());
        self.environment.apply_to(&mut command);
        if let Some(target) = &self.folders.target {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }
}

/// The folder in which cargo keeps the sources of dependencies.
pub(crate) fn cargo_home() -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))
        .unwrap_or_else(|| ".cargo".into())
}

impl Step {
    fn new(title: &'static str, work: Work) -> Self {
        Self {
            title,
            duration_hint: None,
            work,
        }
    }

    /// A step without cargo.
    pub(crate) fn check(
        title: &'static str,
        check: impl FnMut() -> Result<(), String> + 'static,
    ) -> Self {
        Self::new(title, Work::Check(Box::new(check)))
    }

    pub(crate) fn args(mut self, arguments: &[OsString]) -> Self {
        if let Work::Command(command) = &mut self.work {
            command.args(arguments);
        }
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        if let Work::Command(command) = &mut self.work {
            command.env(name, value);
        }
        self
    }

    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        if let Work::Command(command) = &mut self.work {
            command.env_remove(name);
        }
        self
    }

    /// Logged before the step runs, so that a long step does not look stuck.
    pub(crate) fn duration_hint(mut self, hint: &'static str) -> Self {
        self.duration_hint = Some(hint);
        self
    }

    /// Runs the step with its output shown; returns whether it succeeded.
    pub(crate) fn run(&mut self) -> bool {
        match self.duration_hint {
            Some(hint) => log(&format!("{} ({hint})", self.title)),
            None => log(self.title),
        }
        let result = match &mut self.work {
            Work::Command(command) => match command.status() {
                Ok(status) => return status.success(),
                Err(error) => Err(format!("cannot run cargo: {error}")),
            },
            Work::Check(check) => check(),
        };
        result.map_err(|error| log(&error)).is_ok()
    }
}

/// Runs all steps, even after a failure, to report every problem at once. Fails if any step failed.
pub(crate) fn run_all(steps: Vec<Step>) -> ExitCode {
    let started = Instant::now();
    let mut failed = Vec::new();
    for mut step in steps {
        if !step.run() {
            failed.push(step.title);
        }
    }
    let duration = format_duration(started.elapsed());
    if failed.is_empty() {
        log(&format!("passed in {duration}"));
        return ExitCode::SUCCESS;
    }
    log(&format!("failed after {duration}: {}", failed.join("; ")));
    ExitCode::FAILURE
}

/// Replaces this process with `command`, which then receives signals and the terminal, and sets the exit code.
///
/// As a waiting parent, xtask would be killed by the Ctrl-C that makes the child save its state and print how to resume.
#[cfg(unix)]
pub(crate) fn exec(mut command: Command) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    let error = command.exec();
    log(&format!("cannot run cargo: {error}"));
    ExitCode::FAILURE
}

#[cfg(not(unix))]
pub(crate) fn exec(mut command: Command) -> ExitCode {
    match command.status() {
        Ok(status) => status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            log(&format!("cannot run cargo: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn format_duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
