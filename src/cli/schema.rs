//! `roundtable schema`

use std::process::ExitCode;

use roundtable_engine::data::closest;
use roundtable_engine::protocols::{councils, forecast};

use super::output;
use crate::failure::Failure;

const KNOWN: [&str; 2] = ["councils", "forecast"];

/// Print the JSON schema of what `--json` gives.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable schema councils > councils.schema.json")]
pub(crate) struct Args {
    /// The protocol: councils or forecast.
    name: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let schema = match args.name.as_str() {
        "councils" => Some(councils::schema()),
        "forecast" => Some(forecast::schema()),
        _ => None,
    };
    if let Some(schema) = schema {
        output::json(&schema)?;
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
