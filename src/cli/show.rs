//! `roundtable show`

use std::process::ExitCode;

use super::display::closing;
use super::output;
use super::reading::Reading;
use crate::app_context::AppContext;
use crate::failure::Failure;

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

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    let reading = Reading::of(&store, &row).await?;
    store.close().await;
    if args.json {
        output::json(&reading.record())?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!(
        "{}\n",
        output::painted(
            output::BOLD,
            &output::harmless(&reading.transcript.question)
        )
    ));
    if args.transcript {
        closing::transcript(&reading.transcript);
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
