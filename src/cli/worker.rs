//! `roundtable worker`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::server::{self, WorkerOptions};

use super::run::interruption;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Run debates that servers have taken, on this machine, from the database they share.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable worker --database postgres://db.example.org/debates --concurrency 20\n  roundtable serve --no-work --database postgres://db.example.org/debates\n\nAny number of workers may run, on any machines, each with the same models configured. One that dies is replaced within ten seconds by the others, and no finished call is made again."
)]
pub(crate) struct Args {
    /// How many debates it runs at once.
    #[arg(long, default_value_t = 10, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    concurrency: u32,
    /// How many seconds debates may take to come to their end once it is told to end; the rest is handed over.
    #[arg(long, default_value_t = 20, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=25))]
    grace: u64,
}

pub(crate) async fn run(app: AppContext, args: Args) -> Result<ExitCode, Failure> {
    let options = WorkerOptions {
        concurrency: usize::try_from(args.concurrency).unwrap_or(usize::MAX),
        grace: Duration::from_secs(args.grace),
    };
    server::work(Arc::new(app), options, interruption).await?;
    Ok(ExitCode::SUCCESS)
}
