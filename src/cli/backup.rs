//! `roundtable backup`

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use crate::clock;
use crate::format::counted;
use crate::store::BackupError;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Back up all debates to one file, also while they are in use
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable backup debates.db\n  roundtable backup /var/backups/roundtable --keep 14\n\nTo restore a backup, put the file as roundtable.db into an empty folder and pass that folder with --data."
)]
pub(crate) struct Args {
    /// The file to write, which must not exist; or a folder, in which the file is named after the time
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Delete all but the newest N backups in the folder, once the new one is verified
    #[arg(long, value_name = "N")]
    keep: Option<NonZeroUsize>,
    /// Print file, size and deleted files as JSON
    #[arg(long)]
    json: bool,
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Exists(_)
            | BackupError::OnServer { .. }
            | BackupError::Unwritable { .. } => Self::usage(error.to_string()),
            BackupError::Damaged { .. } => Self::other(error.to_string()),
            BackupError::Store(error) => error.into(),
        }
    }
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let is_folder = args.file.is_dir();
    if args.keep.is_some() && !is_folder {
        return Err(Failure::usage(format!(
            "--keep needs a folder, and {} is none",
            args.file.display()
        )));
    }
    let file = if is_folder {
        args.file.join(file_name())
    } else {
        args.file.clone()
    };
    let store = app.store().await?;
    let bytes = store.back_up(&file).await;
    store.close().await;
    let bytes = bytes?;
    let deleted = match args.keep {
        Some(keep) => delete_old(&args.file, keep)
            .map_err(|error| Failure::other(format!("cannot delete old backups: {error}")))?,
        None => Vec::new(),
    };
    let file = file.display();
    if args.json {
        output::json(&json!({ "file": file.to_string(), "bytes": bytes, "deleted": deleted }))?;
    } else {
        output::line(&format!(
            "{file}: {} bytes, verified.",
            output::grouped(bytes)
        ));
        if !deleted.is_empty() {
            let deleted = counted(deleted.len(), "older backup");
            output::line(&format!("Deleted {deleted}."));
        }
    }
    Ok(ExitCode::SUCCESS)
}

const PREFIX: &str = "roundtable-";

/// Sorted by name, backups are sorted by time.
fn file_name() -> String {
    let now = clock::now();
    let stamp = clock::stamp(now).replace(':', "-");
    // Without the milliseconds, which are left out of it if they are zero.
    let seconds = stamp.get(..19).unwrap_or(&stamp);
    format!("{PREFIX}{seconds}.{:03}Z.db", now % 1000)
}

/// Only files with the name of a backup, so that nothing else in the folder is deleted.
fn delete_old(folder: &Path, keep: NonZeroUsize) -> io::Result<Vec<PathBuf>> {
    let length = file_name().len();
    let mut backups = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let is_backup = name.is_some_and(|name| {
            name.len() == length && name.starts_with(PREFIX) && name.ends_with("Z.db")
        });
        if is_backup {
            backups.push(path);
        }
    }
    backups.sort();
    backups.truncate(backups.len().saturating_sub(keep.get()));
    for path in &backups {
        fs::remove_file(path)?;
    }
    Ok(backups)
}
