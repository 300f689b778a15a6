//! `roundtable schema`

use std::process::ExitCode;

use roundtable_engine::data::closest;
use roundtable_engine::protocols::councils;

use super::failure::Failure;
use super::output;

const KNOWN: [&str; 1] = ["councils"];

/// Print the JSON schema of what `--json` gives.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable schema councils > councils.schema.json")]
pub(crate) struct Args {
    /// The protocol: councils.
    name: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.name == "councils" {
        output::json(&councils::schema())?;
        return Ok(ExitCode::SUCCESS);
    }
    let hint = closest(&args.name, KNOWN.into_iter()).map_or_else(
        || format!("there are: {}", KNOWN.join(", ")),
        |close| format!("did you mean '{close}'?"),
    );
    Err(Failure::usage(format!(
        "there is no schema named '{}'; {hint}",
        args.name
    )))
}
