//! `roundtable completions`

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, output};
use crate::failure::Failure;

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roundtable completions bash > /etc/bash_completion.d/roundtable"
)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    output::print(&script(args.shell)?);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn script(shell: Shell) -> Result<String, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "roundtable", &mut script);
    String::from_utf8(script)
        .map_err(|error| Failure::other(format!("cannot generate the completion script: {error}")))
}
