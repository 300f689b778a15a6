//! The packages of a release, made from static binaries; `cargo xtask dist` builds those and runs this.
//!
//! Deterministic: the same binaries, texts and date give the same bytes. Entries are sorted, times are the date of the
//! release, and owners and modes are fixed.
#![expect(
    clippy::disallowed_methods,
    reason = "a build tool reads its environment directly; it is not part of the program, which reads its settings in one place"
)]

mod arguments;
mod check;
mod checksums;
mod deb;
mod elf;
mod entry;
mod file_server;
mod install_script;
mod man;
mod npm;
mod pack;
mod program;
mod tarball;
mod version;
mod wheel;

use std::io::Write as _;
use std::process::ExitCode;

use arguments::Task;

fn main() -> ExitCode {
    let result = match Task::parse(std::env::args().skip(1)) {
        Ok(Task::Pack(release)) => pack::run(&release),
        Ok(Task::Check { folder, version }) => check::run(&folder, &version),
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&error);
            ExitCode::FAILURE
        }
    }
}

fn log(line: &str) {
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr(), "dist: {line}");
}
