//! `roundtable resume`: continues a debate without repeating a finished call.

use std::process::ExitCode;

use roundtable_engine::event::{Query, State};
use roundtable_engine::table::{Budget, CONTINUE, decide, open_question};

use crate::clock;
use crate::setup;
use crate::store::{DebateRow, Store};

use super::args::{Limits, OutputMode};
use super::decision_prompt::{self, UserDecision};
use super::display;
use super::output;
use super::run::{self, Debate, Person, Terminal};
use super::stdin_lines::is_interactive;
use super::stored_debate::StoredDebate;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Resume a debate that was interrupted, killed, cut short or failed
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable resume last\n  roundtable resume 3f2a --max-cost 2.00\n  roundtable resume 3f2a --decide another-round\n\nA limit given here replaces the one that the debate was started with."
)]
pub(crate) struct Args {
    /// The debate's id, an unambiguous prefix of it, or `last`
    #[arg(default_value = "last")]
    id: String,
    /// Answer to the question that the debate waits for; a paused debate continues without one
    #[arg(long, value_name = "CHOICE")]
    decide: Option<String>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    output: OutputMode,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    if row.state == State::Complete {
        return show(&store, &row, &args.output).await;
    }
    let lease = store.lease_or_wait(row.id).await?;
    // The previous owner may have ended it meanwhile.
    if let Some(row) = store.get(row.id).await?
        && row.state == State::Complete
    {
        drop(lease);
        return show(&store, &row, &args.output).await;
    }
    let setup = lease.setup().clone();
    let mut terminal = Terminal::new(Person::Watches);
    let mut past = store.entries(row.id).await?;
    if let Some(query) = open_question(&past) {
        let decision = decision_on(query, &args, &mut terminal).await?;
        decide(
            lease.journal().as_ref(),
            clock::now(),
            decision.choice,
            None,
            decision.note,
        )
        .await
        .map_err(|error| Failure::usage(error.to_string()))?;
        past = store.entries(row.id).await?;
    }
    let budget = if args.limits.is_given() {
        args.limits.budget(app)?
    } else if setup::ran_out(&past) {
        if !args.output.quiet {
            output::note(
                "The previous budget was used up, so it no longer applies. Set a new one with --max-cost, --max-tokens-total or --timeout.",
            );
        }
        Budget::default()
    } else {
        setup.budget
    };
    let prepared = setup::prepare_resume(app, setup, budget, &args.output.progress_sink()).await?;
    let debate = Debate {
        lease,
        prepared,
        past,
    };
    run::run(app, &store, debate, &args.output, terminal).await
}

async fn show(store: &Store, row: &DebateRow, mode: &OutputMode) -> Result<ExitCode, Failure> {
    let stored = StoredDebate::load(store, row).await?;
    store.close().await;
    if !mode.quiet {
        output::note("This debate is complete; here is its result.");
    }
    display::show_result(mode, &stored)?;
    Ok(ExitCode::SUCCESS)
}

/// Resuming a paused debate continues it; any other question needs an answer, from the flag or the terminal.
async fn decision_on(
    query: &Query,
    args: &Args,
    terminal: &mut Terminal,
) -> Result<UserDecision, Failure> {
    let is_pause = query.options.iter().any(|option| option == CONTINUE);
    let from_command_line = |choice: &str| UserDecision {
        choice: choice.to_owned(),
        note: None,
    };
    let can_ask = args.output.may_ask() && is_interactive();
    let decision = match &args.decide {
        Some(choice) => Some(from_command_line(choice)),
        None if is_pause => Some(from_command_line(CONTINUE)),
        None if can_ask => decision_prompt::ask(query, terminal.lines()).await,
        None => None,
    };
    decision.ok_or_else(|| {
        Failure::usage(format!(
            "the debate waits for your decision: {}\nAnswer with --decide CHOICE, one of: {}",
            query.question,
            query.options.join(", ")
        ))
    })
}
