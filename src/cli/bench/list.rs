//! `roundtable bench list`

use std::process::ExitCode;

use crate::app_context::AppContext;
use crate::bench::stored;
use crate::cli::output;
use crate::clock;
use crate::failure::Failure;
use crate::format::counted;
use crate::store::Address;

/// List finished benches, newest first
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roundtable bench list --json\n\nBenches with a --folder of their own elsewhere are not listed."
)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    let rows = match app.address()? {
        Address::Folder(folder) => stored::list(folder),
        Address::Server(_) => Vec::new(),
    };
    if args.json {
        output::json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        output::note("No finished bench. Run one with roundtable bench FILE --arms one,panel");
    }
    for row in rows {
        output::line(&format!(
            "{}  {}  {}  {}",
            row.id,
            clock::day_and_time(row.at),
            counted(row.questions, "question"),
            row.arms.join(", ")
        ));
        output::line(&format!("    {}", output::harmless(&row.conclusion)));
    }
    Ok(ExitCode::SUCCESS)
}
