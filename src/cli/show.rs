//! `roundtable show`

use std::process::ExitCode;

use super::display::summary;
use super::output;
use super::stored_debate::StoredDebate;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Show a debate: answer, report and cost
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable show last --transcript")]
pub(crate) struct Args {
    /// The debate's id, an unambiguous prefix of it, or `last`
    #[arg(default_value = "last")]
    id: String,
    /// Print every turn, round by round
    #[arg(long)]
    transcript: bool,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    let stored = StoredDebate::load(&store, &row).await?;
    store.close().await;
    if args.json {
        output::json(&stored.record())?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!(
        "{}\n",
        output::painted(output::BOLD, &output::harmless(&stored.transcript.question))
    ));
    if args.transcript {
        summary::print_transcript(&stored.transcript);
    }
    if let Some(answer) = &stored.report.answer {
        output::line(&output::painted(output::BOLD, "Answer\n"));
        output::markdown(answer);
    }
    for line in summary::full(&stored) {
        output::line(&line);
    }
    Ok(ExitCode::SUCCESS)
}
