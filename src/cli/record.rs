//! `roundtable record`: the record of an enhanced debate (E-12).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use roundtable_engine::protocols::modes::enhanced;
use roundtable_engine::retrospective::RecordFile;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Print the record of an enhanced debate: positions, evidence and measures of every round
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable record last\n  roundtable record 3f2a --format json -o record.json\n\nOnly debates with --enhanced or --algorithm have one; `roundtable export` works for every debate."
)]
pub(crate) struct Args {
    /// The debate's id, an unambiguous prefix of it, or `last`
    #[arg(default_value = "last")]
    id: String,
    /// Output format
    #[arg(long, short, value_enum, default_value_t = Format::Yaml)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
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
            "debate {} is not an enhanced debate, so it has no record. Export it with `roundtable export {}`",
            row.id, row.id
        )));
    };
    let file = RecordFile { debate_record };
    let text = match args.format {
        Format::Yaml => serde_saphyr::to_string(&file)
            .map_err(|error| Failure::other(format!("cannot write YAML: {error}")))?,
        Format::Json => output::json_text(&file)?,
    };
    output::write_to(args.output.as_deref(), &text)?;
    Ok(ExitCode::SUCCESS)
}
