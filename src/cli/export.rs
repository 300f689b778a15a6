//! `roundtable export`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use roundtable_core::dataset::{self, Filter as Training};
use roundtable_engine::protocols::dialectic::{Sort, Trace, candidate, example, preference};

use crate::export;
use crate::store::{DebateRow, Store};

use super::output;
use super::stored_debate::StoredDebate;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Write debates as JSON, YAML, Markdown, a self-contained HTML page, or training data.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable export last --format md -o answer.md\n  roundtable export --format jsonl --training preference --min-score 8 -o pairs.jsonl"
)]
pub(crate) struct Args {
    /// The debate's id, any unambiguous beginning of it, or `last`. For jsonl: none means all debates.
    id: Option<String>,
    #[arg(long, short, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Write to this file instead of standard output.
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// jsonl: chats for fine-tuning, or pairs of first and final answer for preference training.
    #[arg(long, value_enum, default_value_t = Kind::Chat)]
    training: Kind,
    /// jsonl: the least score, the user's before the judge's.
    #[arg(long, default_value_t = 8.0)]
    min_score: f64,
    /// jsonl: the least number of rounds.
    #[arg(long, default_value_t = 1)]
    min_rounds: u32,
    /// jsonl: the shortest answer, in characters.
    #[arg(long, default_value_t = 40)]
    min_length: usize,
    /// jsonl: the longest answer, in characters.
    #[arg(long, default_value_t = 40_000)]
    max_length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
    Yaml,
    Md,
    Html,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Chat,
    Preference,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let text = match args.format {
        Format::Jsonl => training(app, &store, &args).await?,
        Format::Json | Format::Yaml | Format::Md | Format::Html => {
            let row = store.find(args.id.as_deref().unwrap_or("last")).await?;
            let stored = StoredDebate::load(&store, &row).await?;
            written(&stored, args.format)?
        }
    };
    store.close().await;
    match &args.output {
        None => output::print(&text),
        Some(path) => {
            std::fs::write(path, text).map_err(|error| {
                Failure::other(format!("cannot write {}: {error}", path.display()))
            })?;
            output::note(&format!("Wrote {}", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn written(stored: &StoredDebate, format: Format) -> Result<String, Failure> {
    let unwritable = |error: String| Failure::other(format!("cannot write the debate: {error}"));
    match format {
        Format::Json => serde_json::to_string_pretty(&stored.record())
            .map(|text| text + "\n")
            .map_err(|error| unwritable(error.to_string())),
        Format::Yaml => {
            serde_saphyr::to_string(&stored.record()).map_err(|error| unwritable(error.to_string()))
        }
        Format::Html => Ok(export::html(&stored.transcript, &stored.report)),
        Format::Md | Format::Jsonl => Ok(export::markdown(&stored.transcript, &stored.report)),
    }
}

async fn training(app: &AppContext, store: &Store, args: &Args) -> Result<String, Failure> {
    let mut rows: Vec<DebateRow> = Vec::new();
    match &args.id {
        Some(id) => rows.push(store.find(id).await?),
        None => {
            for id in store.ids().await? {
                rows.extend(store.get(id).await?);
            }
        }
    }
    let mut traces = Vec::new();
    let mut candidates = Vec::new();
    for row in &rows {
        let Ok(trace) = app.trace(store, row).await else {
            continue;
        };
        if let Some(candidate) = candidate(&trace, row.created_at) {
            traces.push(trace);
            candidates.push(candidate);
        }
    }
    let filter = Training {
        min_score: args.min_score,
        min_rounds: args.min_rounds,
        min_answer_chars: args.min_length,
        max_answer_chars: args.max_length,
    };
    let chosen = dataset::select(&candidates, &filter);
    let sort = match args.training {
        Kind::Chat => Sort::Chat,
        Kind::Preference => Sort::Preference,
    };
    let lines: Vec<String> = chosen
        .into_iter()
        .filter_map(|index| line(&traces[index], sort))
        .collect();
    output::note(&format!(
        "{} of {} debates are good enough (score {} and above).",
        lines.len(),
        rows.len(),
        args.min_score
    ));
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

fn line(trace: &Trace, sort: Sort) -> Option<String> {
    match sort {
        Sort::Chat => serde_json::to_string(&example(trace)?).ok(),
        Sort::Preference => serde_json::to_string(&preference(trace)?).ok(),
    }
}
