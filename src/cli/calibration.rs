//! `roundtable calibration`

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_engine::protocols::forecast::{Calibration, calibration_report};

use crate::{clock, export};

use super::display::summary;
use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Show how accurate past forecasts were
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable calibration\n  roundtable calibration --html calibration.html\n\nCounts the forecasts with a recorded outcome (roundtable resolve) and a resolution date in the past."
)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a self-contained HTML page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let now = clock::now();
    let store = app.store().await?;
    let scored = app.forecasts.scored(&store, None, now).await?;
    store.close().await;
    let calibration = Calibration::of(scored, now);
    let report = calibration_report(&calibration);
    if let Some(path) = &args.html {
        output::write_to(Some(path), &export::report_html("Calibration", &report))?;
    }
    if args.json {
        output::json(&calibration)?;
    } else if args.html.is_none() {
        summary::print_report(&report);
    }
    Ok(ExitCode::SUCCESS)
}
