//! `roundtable export`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use roundtable_core::characters::escape_json;
use roundtable_core::dataset::{self, Filter};
use roundtable_engine::protocols::dialectic::{Trace, candidate, example, preference};

use super::output;
use crate::app_context::AppContext;
use crate::export::{self, ExportError, Format};
use crate::failure::Failure;
use crate::format::counted;
use crate::store::{DebateRow, Store};

/// Write debates as JSON, YAML, Markdown, a self-contained HTML page, or training data.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable export last --format md -o answer.md\n  roundtable export --format jsonl --training preference -o pairs.jsonl"
)]
pub(crate) struct Args {
    /// The debate's id, a unique prefix of it, or `last` (the default). jsonl without an id exports all debates.
    id: Option<String>,
    #[arg(long, short, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Write to this file instead of standard output.
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// jsonl: chats for fine-tuning (the default), or pairs of first and final answer for preference training.
    #[arg(long, value_enum)]
    training: Option<TrainingKind>,
    /// jsonl: the minimum score, from 0 to 10; the user's rating counts before the judge's score.
    #[arg(long, default_value_t = 8.0, value_parser = score)]
    min_score: f64,
    /// jsonl: the minimum number of rounds.
    #[arg(long, default_value_t = 1)]
    min_rounds: u32,
    /// jsonl: the minimum length of the answer, in characters.
    #[arg(long, default_value_t = 40)]
    min_length: usize,
    /// jsonl: the maximum length of the answer, in characters.
    #[arg(long, default_value_t = 40_000)]
    max_length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TrainingKind {
    Chat,
    Preference,
}

fn score(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok();
    number
        .filter(|score| (0.0..=10.0).contains(score))
        .ok_or("expected a number from 0 to 10")
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    if args.training.is_some() && args.format != Format::Jsonl {
        return Err(Failure::usage(
            "invalid --training: only --format jsonl writes training data",
        ));
    }
    let store = app.store().await?;
    let text = match args.format {
        Format::Jsonl => training(&store, &args).await?,
        format => {
            let row = store.find(args.id.as_deref().unwrap_or("last")).await?;
            let entries = store.entries(row.id).await?;
            export::render(format, &row, &entries).map_err(|error| failure(&row, &error))?
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

fn failure(row: &DebateRow, error: &ExportError) -> Failure {
    Failure::other(match error {
        ExportError::NotStarted => format!("{error}; `roundtable resume {}` starts it", row.id),
        _ => error.to_string(),
    })
}

/// One line per selected debate. A debate named by id must have training data; of all debates, those without are skipped.
async fn training(store: &Store, args: &Args) -> Result<String, Failure> {
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
        let trace = export::trace(row, &store.entries(row.id).await?);
        let found = trace.and_then(|trace| Some((candidate(&trace, row.created_at)?, trace)));
        match found {
            Some((candidate, trace)) => {
                candidates.push(candidate);
                traces.push(trace);
            }
            None if args.id.is_some() => return Err(failure(row, &ExportError::NoTrainingData)),
            None => {}
        }
    }
    let filter = Filter {
        min_score: args.min_score,
        min_rounds: args.min_rounds,
        min_answer_chars: args.min_length,
        max_answer_chars: args.max_length,
    };
    let kind = args.training.unwrap_or(TrainingKind::Chat);
    let selected = dataset::select(&candidates, &filter);
    let lines: Vec<String> = selected
        .iter()
        .filter_map(|index| line(&traces[*index], kind))
        .collect();
    output::note(&format!(
        "Exported {} of {}.",
        lines.len(),
        counted(rows.len(), "debate")
    ));
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    *reasons
        .entry("without an answer, or not from `ask`")
        .or_default() += rows.len() - candidates.len();
    *reasons
        .entry("first and final answer are the same")
        .or_default() += selected.len() - lines.len();
    for (index, candidate) in candidates.iter().enumerate() {
        if !selected.contains(&index) {
            *reasons
                .entry(
                    filter
                        .rejection(candidate)
                        .unwrap_or("a better answer to the same question"),
                )
                .or_default() += 1;
        }
    }
    for (reason, count) in reasons.into_iter().filter(|(_, count)| *count > 0) {
        output::note(&format!("Left out {count}: {reason}"));
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

fn line(trace: &Trace, kind: TrainingKind) -> Option<String> {
    match kind {
        TrainingKind::Chat => serde_json::to_string(&example(trace)?).ok(),
        TrainingKind::Preference => serde_json::to_string(&preference(trace)?).ok(),
    }
    .map(escape_json)
}
