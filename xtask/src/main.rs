//! `cargo xtask TASK`: the development tasks of this workspace, for people and for CI.
//!
//! Installs missing build and test tools, then runs cargo. Before each long step it prints one line with what it does and
//! how long that may take. It installs only by methods that need no password (see `install_plan`), otherwise writes only to
//! the user's cache folder, and exits with a non-zero code if anything failed.
#![expect(
    clippy::disallowed_methods,
    reason = "a build tool reads its environment directly; it is not part of the program, which reads its settings in one place"
)]

mod arguments;
mod cargo;
mod clients;
mod deny_file;
mod dependencies;
mod dependency_tree;
mod dist;
mod environment;
mod folders;
mod install;
mod install_plan;
mod libclang;
mod mcp_clients;
mod notices;
mod other_models;
mod packages;
mod probe;
mod requirements;
mod sbom;
mod shots;
mod spdx;
mod static_build;
mod tasks;

use std::io::Write as _;
use std::process::ExitCode;

use arguments::Task;

fn main() -> ExitCode {
    match Task::parse(std::env::args_os().skip(1)) {
        Ok(task) => tasks::run(task),
        Err(error) => {
            log(&format!("{error}\n\n{}", arguments::HELP));
            ExitCode::from(2)
        }
    }
}

/// Prints a progress line to standard error; standard output belongs to the program that `try` runs.
fn log(line: &str) {
    // A closed standard error is no reason to stop building.
    let _ = writeln!(std::io::stderr(), "xtask: {line}");
}
