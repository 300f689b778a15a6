//! `roundtable resume`: continues a debate without repeating a finished call.

use std::process::ExitCode;

use roundtable_engine::budget::Budget;
use roundtable_engine::event::{Entry, Query, Setup, State, position};
use roundtable_engine::table::{CONTINUE, decide, open_question};
use roundtable_engine::transcript::{Outcome, Transcript};
use serde_json::json;
use uuid::Uuid;

use crate::clock;
use crate::models::ModelPolicy;
use crate::setup;
use crate::setup::limits::{self, UsedUp};
use crate::store::{DebateRow, Store};

use super::args::{Limits, OutputMode};
use super::audit;
use super::decision_prompt::UserDecision;
use super::display;
use super::output::{self, short_id};
use super::run::{self, Debate, Person, Terminal};
use super::stdin_lines::is_interactive;
use super::stored_debate::StoredDebate;
use crate::app_context::AppContext;
use crate::failure::{Code, Failure};

/// Resume an unfinished debate
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable resume last\n  roundtable resume 3f2a --max-cost 2.00\n  roundtable resume 3f2a --decide another-round\n\nThe limits that the debate was started with still hold. A limit given here replaces the debate's own, up to that of the configuration."
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
    let requested = args.limits.requested()?;
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    check_decision(&args, &row)?;
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
    let mut terminal = Terminal::new(app, Person::Watches);
    let mut past = store.entries(row.id).await?;
    if !args.output.quiet {
        for note in limits::lowered(requested, app.config.limits.budget()) {
            output::note(&note);
        }
    }
    let budget = resumed_budget(app, &store, row.id, &setup, &past, requested).await?;
    if let Some(query) = open_question(&past) {
        let Some(decision) = decision_on(query, &args, &mut terminal).await else {
            drop(lease);
            let stored = StoredDebate::load(&store, &row).await?;
            store.close().await;
            display::show_result(&args.output, &stored)?;
            return Ok(Code::Waiting.into());
        };
        let action = audit::Action {
            name: "decision",
            subject: &row.id.to_string(),
            detail: Some(format!("choice '{}'", decision.choice)),
        };
        let journal = lease.journal();
        let deciding = async {
            let UserDecision { choice, note } = decision;
            let decided = decide(journal.as_ref(), clock::now(), choice, None, note).await;
            decided.map_err(|error| Failure::usage(error.to_string()))
        };
        audit::recorded(app, &store, action, deciding).await?;
        past = store.entries(row.id).await?;
    }
    if requested != Budget::default() {
        let action = audit::Action {
            name: "budget-raised",
            subject: &row.id.to_string(),
            detail: Some(json!(requested).to_string()),
        };
        audit::recorded(app, &store, action, store.set_budget(row.id, &budget)).await?;
    }
    if !args.output.quiet
        && let Some(note) = retried(&past)
    {
        output::note(&note);
    }
    let prepared = setup::prepare_resume(
        app,
        setup,
        budget,
        ModelPolicy::default(),
        &args.output.progress_sink(),
    )
    .await?;
    let debate = Debate {
        lease,
        prepared,
        past,
    };
    run::run(app, &store, debate, &args.output, terminal).await
}

/// A decision is for a debate that waits for one.
fn check_decision(args: &Args, row: &DebateRow) -> Result<(), Failure> {
    if args.decide.is_none() || row.state == State::Waiting {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "debate {} is {} and does not wait for a decision: leave out --decide",
        short_id(&row.id.to_string()),
        row.state.name()
    )))
}

/// The limits of the resumed debate; an error if one of them is used up (C-19).
async fn resumed_budget(
    app: &AppContext,
    store: &Store,
    id: Uuid,
    setup: &Setup,
    past: &[Entry],
    requested: Budget,
) -> Result<Budget, Failure> {
    let own = store.budget(id).await?.unwrap_or(setup.budget);
    let configured = app.config.limits.budget();
    let budget = limits::resumed(own, requested, configured);
    setup::check_resumed_prices(app, setup, &budget, past)?;
    let has_new_limits = limits::has_new_limits(own, requested, configured);
    let Some(used_up) = UsedUp::of(past, budget, configured, has_new_limits) else {
        return Ok(budget);
    };
    let id = id.to_string();
    Err(Failure::budget(format!(
        "{}. Resume with a higher limit:\n  {}",
        used_up.sentence(),
        used_up.commands(short_id(&id)).join("\n  ")
    )))
}

/// The failed steps that are retried.
fn retried(past: &[Entry]) -> Option<String> {
    let transcript = Transcript::of("", past)?;
    let failed: Vec<String> = transcript
        .turns()
        .filter(|turn| matches!(turn.outcome, Outcome::Absent { .. }))
        .map(|turn| position(&turn.step))
        .collect();
    (!failed.is_empty()).then(|| format!("Retrying: {}.", failed.join(", ")))
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

/// Resuming a paused debate continues it; any other question needs an answer, from the flag or the terminal. `None` if the user
/// decides later.
async fn decision_on(query: &Query, args: &Args, terminal: &mut Terminal) -> Option<UserDecision> {
    let is_pause = query.options.iter().any(|option| option == CONTINUE);
    let from_command_line = |choice: &str| UserDecision {
        choice: choice.to_owned(),
        note: None,
    };
    let can_ask = args.output.may_ask() && is_interactive();
    match &args.decide {
        Some(choice) => Some(from_command_line(choice)),
        None if is_pause => Some(from_command_line(CONTINUE)),
        None if can_ask => terminal.ask(query).await,
        None => None,
    }
}
