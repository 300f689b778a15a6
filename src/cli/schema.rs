//! `roundtable schema`

use std::process::ExitCode;

use roundtable_engine::data::closest;
use roundtable_engine::protocols;

use super::judge::ranking;
use super::output;
use crate::bench;
use crate::failure::Failure;
use serde_json::Value;

/// Print the JSON schema of a record that `--json` prints
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable schema councils > councils.schema.json")]
pub(crate) struct Args {
    /// The protocol: dialectic (ask), councils (judge), forecast, modes (debate) or panel; ranking for judge --rank; bench; bench-compare
    name: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let published = protocols::ALL
        .iter()
        .filter_map(|protocol| Some((protocol.name(), protocol.record_schema()?)));
    let published = published.chain([
        ("ranking", ranking::schema()),
        ("bench", bench::schema()),
        ("bench-compare", bench::comparison_schema()),
    ]);
    let published: Vec<(&str, Value)> = published.collect();
    let found = published.iter().find(|(name, _)| *name == args.name);
    if let Some((_, schema)) = found {
        output::json(schema)?;
        return Ok(ExitCode::SUCCESS);
    }
    let names: Vec<&str> = published.iter().map(|(name, _)| *name).collect();
    let hint = closest(&args.name, names.iter().copied()).map_or_else(
        || format!("known schemas: {}", names.join(", ")),
        |close| format!("did you mean '{close}'?"),
    );
    Err(Failure::usage(format!(
        "unknown schema '{}'; {hint}",
        args.name
    )))
}
