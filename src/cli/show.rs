//! `roundtable show`

use std::process::ExitCode;

use roundtable_engine::event::State;

use super::decision_prompt;
use super::display::summary;
use super::output::{self, short_id};
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
    let transcript = &stored.transcript;
    output::line(&format!(
        "{}\n",
        output::painted(output::BOLD, &output::harmless(&transcript.question))
    ));
    // Without an answer, what was said so far is what there is to show.
    if args.transcript || stored.report.answer.is_none() {
        summary::print_transcript(transcript);
    }
    if let Some(answer) = &stored.report.answer {
        output::line(&output::painted(output::BOLD, "Answer\n"));
        output::answer(answer)?;
    }
    for line in summary::full(&stored) {
        output::line(&line);
    }
    let id = short_id(&transcript.id);
    if let Some(query) = &transcript.waiting_for {
        output::line(&format!("\n{}", decision_prompt::instructions(query, id)));
    } else if let State::Interrupted | State::Cancelled | State::Failed = transcript.state {
        output::line(&format!("Continue with:\n  roundtable resume {id}"));
    }
    Ok(ExitCode::SUCCESS)
}
