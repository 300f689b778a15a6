//! `roundtable record`: the debate record of an enhanced debate (E-12).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use roundtable_engine::protocols::modes::enhanced;
use roundtable_engine::retrospective::RecordFile;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// The record of an enhanced debate: every round with positions, evidence and measures, and what came out.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable record last\n  roundtable record 3f2a --format json -o record.json\n\nOnly a debate that was held with --enhanced, or by an algorithm, has one; `roundtable export` serves every debate."
)]
pub(crate) struct Args {
    /// The debate's id, any unambiguous beginning of it, or `last`.
    #[arg(default_value = "last")]
    id: String,
    #[arg(long, short, value_enum, default_value_t = Format::Yaml)]
    format: Format,
    /// Write to this file instead of standard output.
    #[arg(long, short)]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Yaml,
    Json,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    let entries = store.entries(row.id).await?;
    store.close().await;
    let Some(debate_record) = enhanced::record(&row.id.to_string(), &entries) else {
        return Err(Failure::usage(format!(
            "debate {} was not an enhanced one, so it has no such record; `roundtable export {}` writes what it has",
            row.id, row.id
        )));
    };
    let file = RecordFile { debate_record };
    let text = match args.format {
        Format::Yaml => serde_saphyr::to_string(&file).map_err(|error| error.to_string()),
        Format::Json => serde_json::to_string_pretty(&file)
            .map(|text| text + "\n")
            .map_err(|error| error.to_string()),
    };
    let text =
        text.map_err(|error| Failure::other(format!("the record cannot be written: {error}")))?;
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
