//! `roundtable resume`: no finished call is made again.

use std::process::ExitCode;

use roundtable_engine::event::{Query, State};
use roundtable_engine::table::{Budget, CONTINUE, decide, open_question};

use crate::clock;
use crate::opening;
use crate::store::{DebateRow, Store};

use super::ask::{self, Limits};
use super::display::{Display, Manner};
use super::failure::Failure;
use super::output;
use super::reading::Reading;
use super::run::{self, Debate};
use super::workshop::Workshop;

/// Go on with a debate that was interrupted, killed, cut short or failed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable resume last\n  roundtable resume 3f2a --max-cost 2.00\n\nA limit given here replaces the one the debate was started with."
)]
pub(crate) struct Args {
    /// The debate's id, any unambiguous beginning of it, or `last`.
    #[arg(default_value = "last")]
    id: String,
    /// What to do about a debate that waits for a decision; a paused one goes on without it.
    #[arg(long, value_name = "CHOICE")]
    decide: Option<String>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) async fn run(workshop: &Workshop, args: Args) -> Result<ExitCode, Failure> {
    let store = workshop.store().await?;
    let row = store.find(&args.id).await?;
    if row.state == State::Complete {
        return show(&store, &row, &args.manner).await;
    }
    let claim = store.claim_patiently(row.id).await?;
    // Whoever held it until now may have ended it.
    if let Some(row) = store.get(row.id).await?
        && row.state == State::Complete
    {
        drop(claim);
        return show(&store, &row, &args.manner).await;
    }
    let setup = claim.setup().clone();
    let mut past = store.entries(row.id).await?;
    if let Some(query) = open_question(&past) {
        let choice = choice_for(query, args.decide.as_deref())?;
        decide(
            claim.journal().as_ref(),
            clock::now(),
            choice,
            None,
            Some("on the command line".into()),
        )
        .await
        .map_err(|error| Failure::usage(error.to_string()))?;
        past = store.entries(row.id).await?;
    }
    let budget = if args.limits.is_given() {
        args.limits.budget(workshop)?
    } else if opening::ran_out(&past) {
        if !args.manner.quiet {
            output::note(
                "Its old limit is spent and no longer counts; give a new one to set another.",
            );
        }
        Budget::default()
    } else {
        setup.budget
    };
    let prepared = opening::again(workshop, setup, budget, &ask::ear(&args.manner)).await?;
    let debate = Debate {
        claim,
        prepared,
        past,
    };
    run::run(workshop, &store, debate, &args.manner).await
}

async fn show(store: &Store, row: &DebateRow, manner: &Manner) -> Result<ExitCode, Failure> {
    let reading = Reading::of(store, row).await?;
    store.close().await;
    if !manner.quiet {
        output::note("This debate is complete; here is its result.");
    }
    Display::finished(manner, &reading)?;
    Ok(ExitCode::SUCCESS)
}

/// Whoever resumes a paused debate wants it to go on; anything else has to be said.
fn choice_for(query: &Query, given: Option<&str>) -> Result<String, Failure> {
    let is_pause = query.options.iter().any(|option| option == CONTINUE);
    match given {
        Some(choice) => Ok(choice.to_owned()),
        None if is_pause => Ok(CONTINUE.to_owned()),
        None => Err(Failure::usage(format!(
            "the debate waits for your decision: {}\nAnswer with --decide and one of: {}",
            query.question,
            query.options.join(", ")
        ))),
    }
}
