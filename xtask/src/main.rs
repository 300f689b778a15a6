//! `cargo xtask …`: what people and CI run in this workspace.
//!
//! It sees to what the build and the tests need from the machine, then hands over to cargo. It promises to say in one
//! line what it is about to do and how long that may take, to install only with what the machine offers without a
//! password (see `plan`) and otherwise to write to the user's cache folder alone, and to end with a non-zero code
//! whenever something did not succeed.
#![expect(
    clippy::disallowed_methods,
    reason = "a build tool looks at its environment; it is no part of the program, whose settings have one home"
)]

mod arguments;
mod cargo;
mod folders;
mod install;
mod libclang;
mod machine;
mod needs;
mod plan;
mod surroundings;
mod tasks;

use std::io::Write as _;
use std::process::ExitCode;

use arguments::Task;

fn main() -> ExitCode {
    match Task::parse(std::env::args_os().skip(1)) {
        Ok(Task::Help) => {
            // Nobody is left to tell if this fails: the reader has closed the pipe.
            let _ = writeln!(std::io::stdout(), "{}", arguments::HELP);
            ExitCode::SUCCESS
        }
        Ok(Task::Try { question, options }) => tasks::try_it(&question, &options),
        Ok(Task::Test { filters }) => tasks::test(&filters),
        Ok(Task::Check) => tasks::check(),
        Ok(Task::Bench { filters }) => tasks::bench(&filters),
        Ok(Task::Soak { filters }) => tasks::soak(&filters),
        Err(error) => {
            say(&format!("{error}\n\n{}", arguments::HELP));
            ExitCode::from(2)
        }
    }
}

/// One line about what happens next. On standard error: standard output belongs to the program that `try` runs.
fn say(line: &str) {
    // A closed standard error is no reason to stop building.
    let _ = writeln!(std::io::stderr(), "xtask: {line}");
}
