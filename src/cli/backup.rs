//! `roundtable backup`

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use crate::store::BackupError;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Back up all debates to one file, also while they are in use
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roundtable backup debates-$(date +%F).db\n\nTo restore it, put the file as roundtable.db into an empty folder and pass that folder with --data."
)]
pub(crate) struct Args {
    /// The file to write; it must not exist
    file: PathBuf,
    /// Print file and size as JSON
    #[arg(long)]
    json: bool,
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Exists(_)
            | BackupError::OnServer { .. }
            | BackupError::Unwritable { .. } => Self::usage(error.to_string()),
            BackupError::Store(error) => error.into(),
        }
    }
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let bytes = store.back_up(&args.file).await?;
    store.close().await;
    let file = args.file.display();
    if args.json {
        output::json(&json!({ "file": file.to_string(), "bytes": bytes }))?;
    } else {
        output::line(&format!("{file}: {} bytes.", output::grouped(bytes)));
    }
    Ok(ExitCode::SUCCESS)
}
