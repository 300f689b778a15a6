//! `roundtable pull`: downloads the embedded model and embedder.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::embedded::{Fetching, Report};

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Download the embedded model and embedder
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable pull\n  roundtable pull --model Qwen2.5-Coder-1.5B-Instruct\n\n`roundtable models` lists the models."
)]
pub(crate) struct Args {
    /// Language model; `auto` is the best available one for the memory of this machine
    #[arg(long, default_value = "auto", value_name = "NAME")]
    model: String,
    /// Download only the embedder
    #[arg(long)]
    embedder_only: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let report = reporter(true);
    // The model first: an unknown name is an error before anything is downloaded.
    let model = if args.embedder_only {
        None
    } else {
        Some(app.local.pull_model(&args.model, report.clone()).await?)
    };
    app.local.ready_embedder(report).await?;
    if args.json {
        output::json(&json!({ "embedder": "local:all-MiniLM-L6-v2", "model": model }))?;
    } else {
        output::line("Ready: local:all-MiniLM-L6-v2");
        if let Some(model) = model {
            output::line(&format!("Ready: {model}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Announces a download and, on a terminal, draws a progress bar.
pub(crate) fn reporter(is_verbose: bool) -> Report {
    let bar: Arc<Mutex<Option<(String, ProgressBar)>>> = Arc::default();
    Arc::new(move |event| {
        if !is_verbose {
            return;
        }
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Fetching::Plan(attempts) => match attempts.as_slice() {
                [] => {}
                [one] => output::note(&format!("Downloading {one} (only needed once).")),
                several => output::note(&format!(
                    "Downloading the first available of these (only needed once; after Ctrl-C the next run continues; \
                     --model chooses another):\n  {}",
                    several.join("\n  ")
                )),
            },
            Fetching::Progress { what, done, total } => {
                let is_same = bar.as_ref().is_some_and(|(known, _)| *known == what);
                if !is_same {
                    clear(&mut bar);
                    *bar = Some((what.clone(), new_bar(&what, done, total)));
                }
                if let Some((_, bar)) = bar.as_ref() {
                    report_percent(bar, &what, done, total);
                    bar.set_length(total.max(done));
                    bar.set_position(done);
                }
            }
            Fetching::Done(path) => {
                clear(&mut bar);
                output::note(&format!("Downloaded {}", path.display()));
            }
            Fetching::Note(text) => {
                clear(&mut bar);
                output::note(&text);
            }
        }
    })
}

fn clear(bar: &mut Option<(String, ProgressBar)>) {
    if let Some((_, old)) = bar.take() {
        old.finish_and_clear();
    }
}

fn new_bar(what: &str, done: u64, total: u64) -> ProgressBar {
    // Hidden if standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let template = "  {msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    // A continued download did not get there at once.
    bar.set_position(done);
    bar.reset_eta();
    bar
}

/// Without a terminal, a line for every tenth of a large file.
fn report_percent(bar: &ProgressBar, what: &str, done: u64, total: u64) {
    const QUICK: Duration = Duration::from_secs(3);
    const SMALL_BYTES: u64 = 200_000_000;
    if !bar.is_hidden() || bar.elapsed() < QUICK || total < SMALL_BYTES {
        return;
    }
    let tenths = |bytes: u64| bytes.saturating_mul(10) / total;
    if tenths(done) > tenths(bar.position()) {
        let megabytes = total / 1_000_000;
        output::note(&format!("  {what}: {}0% of {megabytes} MB", tenths(done)));
    }
}
