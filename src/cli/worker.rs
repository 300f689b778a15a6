//! `roundtable worker`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::server::{self, WorkerOptions};

use super::run::interruption;
use crate::app_context::AppContext;
use crate::embedded::Admission;
use crate::failure::Failure;

/// Run the debates of servers that share a database
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable worker --database postgres://db.example.org/debates\n  roundtable serve --no-work --database postgres://db.example.org/debates\n\nAny number of workers can run on any machines, all with the same models configured. If one dies, the others take over its debates within ten seconds; no finished call is repeated."
)]
pub(crate) struct Args {
    /// Maximum number of running debates
    #[arg(long, default_value_t = 10, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    concurrency: u32,
    /// Seconds that running debates get to finish on shutdown; the rest are handed over to other workers
    #[arg(long, default_value_t = 20, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=25))]
    grace: u64,
}

pub(crate) async fn run(mut app: AppContext, args: Args) -> Result<ExitCode, Failure> {
    app.local.admission = Admission::for_clients(&app.config);
    app.models.hide_addresses();
    let options = WorkerOptions {
        concurrency: usize::try_from(args.concurrency).unwrap_or(usize::MAX),
        grace: Duration::from_secs(args.grace),
    };
    server::work(Arc::new(app), options, interruption).await?;
    Ok(ExitCode::SUCCESS)
}
