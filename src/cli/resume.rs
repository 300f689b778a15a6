//! `roundtable resume`: no finished call is made again.

use std::process::ExitCode;

use roundtable_engine::event::{Entry, Event, State};
use roundtable_engine::table::Budget;

use super::ask::Limits;
use super::display::{Display, Manner};
use super::failure::Failure;
use super::reading::Reading;
use super::run::{self, Debate};
use super::workshop::Workshop;
use super::{output, pull, seating};

/// Go on with a debate that was interrupted, killed, cut short or failed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable resume last\n  roundtable resume 3f2a --max-cost 2.00\n\nA limit given here replaces the one the debate was started with."
)]
pub(crate) struct Args {
    /// The debate's id, any unambiguous beginning of it, or `last`.
    #[arg(default_value = "last")]
    id: String,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) async fn run(workshop: &Workshop, args: Args) -> Result<ExitCode, Failure> {
    let store = workshop.store().await?;
    let row = store.find(&args.id).await?;
    if row.state == State::Complete {
        let reading = Reading::of(&store, &row).await?;
        if !args.manner.quiet {
            output::note("This debate is complete; here is its result.");
        }
        Display::finished(&args.manner, &reading)?;
        return Ok(ExitCode::SUCCESS);
    }
    let claim = store.claim(row.id).await?;
    let setup = claim.setup().clone();
    let past = store.entries(row.id).await?;
    let budget = if args.limits.is_given() {
        args.limits.budget(workshop)?
    } else if ran_out(&past) {
        if !args.manner.quiet {
            output::note(
                "Its old limit is spent and no longer counts; give a new one to set another.",
            );
        }
        Budget::default()
    } else {
        setup.budget
    };
    let report = pull::reporter(!args.manner.quiet);
    let chairs = seating::again(workshop, &setup.seats, &report).await?;
    let embedder = match &setup.embedder {
        Some(name) => {
            let name = workshop.config.model_name(name)?;
            Some(workshop.embedder_named(&name, report).await?)
        }
        None => None,
    };
    let debate = Debate {
        claim,
        setup,
        budget,
        chairs,
        embedder,
        past,
    };
    run::run(workshop, &store, debate, &args.manner).await
}

/// Whether its budget ended it. Whoever resumes such a debate wants it to go on, and its old limit would end it at once; a
/// debate that is partial for another reason keeps its limits.
fn ran_out(past: &[Entry]) -> bool {
    let last = past.iter().rev().find_map(|entry| match &entry.event {
        Event::Ended(end) => Some(end),
        Event::Opened(_)
        | Event::RoundStarted { .. }
        | Event::Noted { .. }
        | Event::StepStarted { .. }
        | Event::Chunk { .. }
        | Event::StepRestarted { .. }
        | Event::StepFinished(_)
        | Event::StepFailed(_)
        | Event::Reopened { .. }
        | Event::Rated { .. } => None,
    });
    let result = last.and_then(|end| end.result.as_ref());
    result.is_some_and(|result| result["stop_reason"] == "budget")
}
