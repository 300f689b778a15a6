//! Results of benches that were run: a file in the folder of each bench, found again by the folder's name.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use roundtable_engine::data::{closest, read_regular};
use roundtable_engine::event::Millis;
use schemars::JsonSchema;
use serde::Serialize;

use super::BenchReport;
use crate::failure::Failure;

/// The folder of all benches in a data folder.
const BENCHES: &str = "benches";
/// The result in the folder of a bench.
const RESULT: &str = "result.json";
const MAX_BYTES: u64 = 500_000_000;

/// A finished bench in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct BenchRow {
    pub id: String,
    /// When its result was written last, as milliseconds since 1970.
    pub at: Millis,
    pub file: String,
    pub questions: usize,
    pub arms: Vec<String>,
    pub conclusion: String,
    pub is_decided: bool,
}

/// The folder of a bench by its id.
pub(crate) fn folder(data: &Path, id: &str) -> PathBuf {
    data.join(BENCHES).join(id)
}

/// Writes the result into the folder of its bench.
pub(crate) fn save(folder: &Path, text: &str) -> Result<(), Failure> {
    let path = folder.join(RESULT);
    let new = folder.join(format!("{RESULT}.new"));
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path));
    written.map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))
}

/// The finished benches of a data folder, newest first. Damaged results are left out.
pub(crate) fn list(data: &Path) -> Vec<BenchRow> {
    let mut rows: Vec<BenchRow> = ids(data)
        .into_iter()
        .filter_map(|id| {
            let path = folder(data, &id).join(RESULT);
            let modified = std::fs::metadata(&path)
                .and_then(|meta| meta.modified())
                .ok()?;
            let since = modified.duration_since(UNIX_EPOCH).ok()?;
            let bench = read(&path).ok()?;
            Some(BenchRow {
                id,
                at: Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX),
                file: bench.source.file,
                questions: bench.source.questions,
                arms: bench.arms.into_iter().map(|arm| arm.arm).collect(),
                conclusion: bench.conclusion,
                is_decided: bench.is_decided,
            })
        })
        .collect();
    rows.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
    rows
}

fn ids(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data.join(BENCHES)).into_iter().flatten();
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|id| folder(data, id).join(RESULT).is_file())
        .collect()
}

/// The bench with this id; `None` if there is none, or if the id is not the name of a folder.
pub(crate) fn get(data: &Path, id: &str) -> Option<Result<BenchReport, Failure>> {
    let is_name = !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\\']);
    let path = folder(data, id).join(RESULT);
    (is_name && path.is_file()).then(|| read(&path))
}

/// A bench by its id, its folder, or a file that `bench --json` has written.
pub(crate) fn find(data: Option<&Path>, name: &str) -> Result<BenchReport, Failure> {
    if let Some(found) = data.and_then(|data| get(data, name)) {
        return found;
    }
    let path = Path::new(name);
    if path.is_dir() {
        return read(&path.join(RESULT));
    }
    if path.exists() {
        return read(path);
    }
    let known = data.map(ids).unwrap_or_default();
    let hint = match closest(name, known.iter().map(String::as_str)) {
        Some(close) => format!("did you mean '{close}'?"),
        None => "roundtable bench list shows those that are finished".to_owned(),
    };
    Err(Failure::usage(format!(
        "no bench '{name}', neither an id nor a file or folder; {hint}"
    )))
}

fn read(path: &Path) -> Result<BenchReport, Failure> {
    let bytes = read_regular(path, MAX_BYTES)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::usage(format!(
            "{} is not a result of roundtable bench --json: {error}",
            path.display()
        ))
    })
}
