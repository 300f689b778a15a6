//! The folder of a bench, and the settings that must stay the same when it is continued.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Args;
use crate::app_context::AppContext;
use crate::bench::stored;
use crate::cli::output;
use crate::failure::Failure;
use crate::store::Address;

/// The file in the bench's folder that says what it belongs to.
const MANIFEST: &str = "bench.json";

/// The settings that must stay the same when a bench is continued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub file: String,
    pub sha256: String,
    pub program: String,
    pub seed: u64,
    pub model: Option<String>,
    pub seats: Vec<String>,
}

/// The folder of the bench's debates: they are kept apart from all others, so no listing shows them.
pub(super) fn folder(
    app: &AppContext,
    args: &Args,
    file: &Path,
    sha256: &str,
) -> Result<PathBuf, Failure> {
    if let Some(folder) = &args.folder {
        return Ok(folder.clone());
    }
    match app.address()? {
        Address::Folder(folder) => {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{stem}-{}", sha256.get(..8).unwrap_or(sha256));
            Ok(stored::folder(folder, &name))
        }
        Address::Server(_) => Err(Failure::usage(
            "the debates of a bench are kept in a folder: name one with --folder",
        )),
    }
}

/// Writes the manifest of a new bench, or checks that the folder belongs to this one.
pub(super) fn claim(folder: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let path = folder.join(MANIFEST);
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        Failure::other(format!("cannot {what} {}: {error}", path.display()))
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let known: Manifest = serde_json::from_str(&text).map_err(|error| {
                Failure::usage(format!("{} is damaged: {error}", path.display()))
            })?;
            differences(&known, manifest, folder)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder).map_err(|error| cannot("create", &error))?;
            std::fs::write(&path, output::json_text(manifest)?)
                .map_err(|error| cannot("write", &error))
        }
        Err(error) => Err(cannot("read", &error)),
    }
}

/// A folder of `--also` holds a part of this bench.
pub(super) fn check_other(folder: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let path = folder.join(MANIFEST);
    let known = std::fs::read_to_string(&path)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    match known {
        Ok(known) => differences(&known, manifest, folder),
        Err(error) => Err(Failure::usage(format!(
            "invalid --also: {} is not the folder of a bench: cannot read {}: {error}",
            folder.display(),
            path.display()
        ))),
    }
}

fn differences(known: &Manifest, now: &Manifest, folder: &Path) -> Result<(), Failure> {
    let models = |manifest: &Manifest| {
        let all = manifest.model.iter().chain(&manifest.seats);
        all.cloned().collect::<Vec<_>>().join(", ")
    };
    let mut faults = Vec::new();
    let mut differs = |what: &str, before: &str, after: &str| {
        if before != after {
            faults.push(format!(
                "{what}: it began with '{before}', now it is '{after}'"
            ));
        }
    };
    differs(
        "the content of the file (sha256)",
        &known.sha256,
        &now.sha256,
    );
    differs("the version of the program", &known.program, &now.program);
    differs("--seed", &known.seed.to_string(), &now.seed.to_string());
    differs("the models", &models(known), &models(now));
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} holds another bench, so it cannot be continued with these settings:\n  {}\nUse another --folder",
        folder.display(),
        faults.join("\n  ")
    )))
}
