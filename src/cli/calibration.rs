//! `roundtable calibration`

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_engine::protocols::forecast::{Calibration, calibration_report};

use crate::{clock, export, forecast_history};

use super::display::closing;
use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// How good the forecasts were: scores beside the baselines, the reliability diagram, what each role has earned.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable calibration\n  roundtable calibration --html calibration.html\n\nOnly forecasts of which it is known what happened (roundtable resolve) and whose resolution date is past are counted."
)]
pub(crate) struct Args {
    /// As one JSON object.
    #[arg(long)]
    json: bool,
    /// Write it as one self-contained HTML file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let now = clock::now();
    let store = app.store().await?;
    let scored = forecast_history::scored_debates(&store, now).await?;
    store.close().await;
    let calibration = Calibration::of(scored, now);
    let report = calibration_report(&calibration);
    if let Some(path) = &args.html {
        let text = export::report_html("Calibration", &report);
        std::fs::write(path, text)
            .map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))?;
        output::note(&format!("Wrote {}", path.display()));
    }
    if args.json {
        output::json(&calibration)?;
    } else if args.html.is_none() {
        for line in closing::report(&report) {
            output::line(&line);
        }
    }
    Ok(ExitCode::SUCCESS)
}
