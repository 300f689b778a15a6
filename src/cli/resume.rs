//! `roundtable resume`: no finished call is made again.

use std::process::ExitCode;

use roundtable_engine::event::{Query, State};
use roundtable_engine::table::{Budget, CONTINUE, decide, open_question};

use crate::clock;
use crate::setup;
use crate::store::{DebateRow, Store};

use super::ask::{self, Limits};
use super::deciding::{self, Verdict};
use super::display::{Display, Manner};
use super::output;
use super::reading::Reading;
use super::run::{self, Debate, Person, Seat};
use super::typed::is_somebody_there;
use crate::app_context::AppContext;
use crate::failure::Failure;

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

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    if row.state == State::Complete {
        return show(&store, &row, &args.manner).await;
    }
    let lease = store.lease_or_wait(row.id).await?;
    // Whoever held it until now may have ended it.
    if let Some(row) = store.get(row.id).await?
        && row.state == State::Complete
    {
        drop(lease);
        return show(&store, &row, &args.manner).await;
    }
    let setup = lease.setup().clone();
    let mut seat = Seat::of(Person::Watches);
    let mut past = store.entries(row.id).await?;
    if let Some(query) = open_question(&past) {
        let verdict = verdict_on(query, &args, &mut seat).await?;
        decide(
            lease.journal().as_ref(),
            clock::now(),
            verdict.choice,
            None,
            verdict.note,
        )
        .await
        .map_err(|error| Failure::usage(error.to_string()))?;
        past = store.entries(row.id).await?;
    }
    let budget = if args.limits.is_given() {
        args.limits.budget(app)?
    } else if setup::ran_out(&past) {
        if !args.manner.quiet {
            output::note(
                "Its old limit is spent and no longer counts; give a new one to set another.",
            );
        }
        Budget::default()
    } else {
        setup.budget
    };
    let prepared = setup::again(app, setup, budget, &ask::progress_sink(&args.manner)).await?;
    let debate = Debate {
        lease,
        prepared,
        past,
    };
    run::run_with(app, &store, debate, &args.manner, seat).await
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

/// Whoever resumes a paused debate wants it to go on; anything else has to be said, here or with the command.
async fn verdict_on(query: &Query, args: &Args, seat: &mut Seat) -> Result<Verdict, Failure> {
    let is_pause = query.options.iter().any(|option| option == CONTINUE);
    let on_the_command_line = |choice: &str| Verdict {
        choice: choice.to_owned(),
        note: Some("on the command line".into()),
    };
    let manner = &args.manner;
    let can_ask = !(manner.quiet || manner.json || manner.events) && is_somebody_there();
    let verdict = match &args.decide {
        Some(choice) => Some(on_the_command_line(choice)),
        None if is_pause => Some(on_the_command_line(CONTINUE)),
        None if can_ask => deciding::ask(query, seat.typed()).await,
        None => None,
    };
    verdict.ok_or_else(|| {
        Failure::usage(format!(
            "the debate waits for your decision: {}\nAnswer with --decide and one of: {}",
            query.question,
            query.options.join(", ")
        ))
    })
}
