//! `roundtable forecast --set NAME`: all questions of a set, with one budget and one table.

use std::process::ExitCode;

use roundtable_core::usage::Money;
use tokio_util::sync::CancellationToken;

use super::super::args::DebateArgs;
use super::super::output;
use super::super::questions::table;
use super::super::run::interruption;
use crate::app_context::AppContext;
use crate::failure::{Code, Failure};
use crate::format::counted;
use crate::questions::results::unknown_set;
use crate::questions::run::{RunOptions, RunSummary, SetRun};
use crate::setup::DebateSpec;

/// The options for a set.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SetArgs {
    /// Forecast the questions of this set; what is finished is not repeated. --max-cost is that of the whole set
    #[arg(long, value_name = "NAME", help_heading = SETS, conflicts_with_all = ["question", "request", "outcomes", "context"])]
    pub(super) set: Option<String>,
    /// Forecasts that run at the same time
    #[arg(long, value_name = "NUMBER", default_value = "4", requires = "set", help_heading = SETS, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Only the first questions of the set
    #[arg(long, value_name = "NUMBER", requires = "set", help_heading = SETS, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Let the workers of the PostgreSQL database run the forecasts
    #[arg(long, requires = "set", help_heading = SETS)]
    on_workers: bool,
}

const SETS: &str = "Set options";

/// Adds the roles, the rounds and the like to the request of a question.
pub(super) type Change<'a> = &'a (dyn Fn(DebateSpec) -> Result<DebateSpec, Failure> + Sync);

pub(super) async fn run(
    app: &AppContext,
    set: &str,
    (args, debate): (&SetArgs, DebateArgs),
    change: Change<'_>,
) -> Result<ExitCode, Failure> {
    let (max_cost, debate) = debate.without_cost()?;
    let max_cost: Option<Money> = max_cost.or(app.config.limits.max_cost);
    if debate.estimate {
        return Err(Failure::usage(
            "--estimate is for one forecast; a set stops at --max-cost",
        ));
    }
    let store = app.store().await?;
    if store.questions_after(set, 0, 1).await?.is_empty() {
        return Err(unknown_set(&store, set).await?);
    }
    if args.on_workers && !store.is_shared() {
        return Err(Failure::usage(
            "--on-workers needs a PostgreSQL database with workers: set --database, or leave the option out",
        ));
    }
    let options = RunOptions {
        set: set.to_owned(),
        max_cost,
        concurrency: usize::from(args.concurrency),
        limit: args.limit.and_then(|limit| usize::try_from(limit).ok()),
        on_workers: args.on_workers,
    };
    let limit = options.limit;
    if args.on_workers {
        store.set_up_queue().await?;
        output::note("Waiting for workers. If none runs, start one with: roundtable worker");
    }
    let complete = |spec: DebateSpec| debate.apply(app, change(spec)?);
    let cancel = CancellationToken::new();
    let progress = debate.output.progress_sink();
    let run = SetRun::open(app, &store, options, &complete, progress, cancel.clone()).await?;
    let summary = {
        let running = run.run();
        tokio::pin!(running);
        tokio::select! {
            biased;
            done = &mut running => done,
            () = interruption() => {
                cancel.cancel();
                running.await
            }
        }
    }?;
    if cancel.is_cancelled() {
        store.close().await;
        output::note("Saved. Run the same command again to continue.");
        return Ok(Code::Interrupted.into());
    }
    let shown = table::show(&store, set, limit, debate.output.json).await;
    store.close().await;
    shown?;
    Ok(ending(set, &summary))
}

fn ending(set: &str, summary: &RunSummary) -> ExitCode {
    for failure in &summary.failures {
        output::error(failure);
    }
    if summary.failed > 0 {
        output::note(&format!(
            "{} of {} could not be forecast. Retry with: roundtable forecast --set {set}",
            summary.failed,
            counted(summary.questions, "question")
        ));
    }
    if summary.is_out_of_budget {
        output::note(
            "The budget is used up. Run the same command with a higher --max-cost to continue.",
        );
        return Code::Budget.into();
    }
    if summary.failed > 0 {
        return Code::Partial.into();
    }
    ExitCode::SUCCESS
}
