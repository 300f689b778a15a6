//! `roundtable show`

use std::process::ExitCode;

use super::display::closing;
use super::failure::Failure;
use super::output;
use super::reading::Reading;
use super::workshop::Workshop;

/// Show one debate: its answer, what was settled, what is open, what it cost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable show last --transcript")]
pub(crate) struct Args {
    /// The debate's id, any unambiguous beginning of it, or `last`.
    #[arg(default_value = "last")]
    id: String,
    /// Everything that was said, round by round.
    #[arg(long)]
    transcript: bool,
    /// The trace.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(workshop: &Workshop, args: Args) -> Result<ExitCode, Failure> {
    let store = workshop.store().await?;
    let row = store.find(&args.id).await?;
    let reading = Reading::of(&store, &row).await?;
    store.close().await;
    if args.json {
        output::json(&reading.record())?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!(
        "{}\n",
        output::painted(output::BOLD, &output::harmless(&reading.account.question))
    ));
    if args.transcript {
        closing::transcript(&reading.account);
    }
    if let Some(answer) = &reading.report.answer {
        output::line(&output::painted(output::BOLD, "Answer\n"));
        output::markdown(answer);
    }
    for line in closing::whole(&reading) {
        output::line(&line);
    }
    Ok(ExitCode::SUCCESS)
}
