//! The licence texts of everything in the program. Most licences require that their text accompanies a binary.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::dependency_tree::PackageId;

const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// Of these packages, each with the SPDX expression of its licence. Every text appears once, after the packages that have it.
pub(crate) fn document(
    packages: &[(&PackageId, String)],
    registry: &Path,
) -> Result<String, String> {
    let mut names = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, license) in packages {
        let name = format!("{} {}", id.name, id.version);
        // Writing to a string cannot fail.
        let _ = writeln!(names, "{name}: {license}");
        let folder = package_folder(registry, id)?;
        for text in license_texts(&folder)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut document = format!("Roundtable contains these libraries:\n\n{names}");
    let mut sections: Vec<(Vec<String>, String)> = texts
        .into_iter()
        .map(|(text, names)| (names, text))
        .collect();
    sections.sort();
    for (mut names, text) in sections {
        names.dedup();
        let rule = "-".repeat(80);
        let _ = write!(
            document,
            "\n{rule}\n{}\n{rule}\n\n{text}\n",
            names.join(", ")
        );
    }
    Ok(document)
}

/// Cargo unpacks packages into one folder for each registry.
fn package_folder(registry: &Path, id: &PackageId) -> Result<PathBuf, String> {
    let name = format!("{}-{}", id.name, id.version);
    let registries = std::fs::read_dir(registry.join("src"))
        .into_iter()
        .flatten();
    let mut folders = registries.filter_map(|entry| Some(entry.ok()?.path().join(&name)));
    folders
        .find(|folder| folder.is_dir())
        .ok_or_else(|| format!("cargo has not unpacked {name}: run `cargo fetch`"))
}

/// The files of a package and of the C and C++ code one folder below it, with uniform line ends.
fn license_texts(folder: &Path) -> Result<Vec<String>, String> {
    let error = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut folders = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).map_err(error)? {
        let entry = entry.map_err(error)?;
        if entry.file_type().map_err(error)?.is_dir() {
            folders.push(entry.path());
        }
    }
    let mut files = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).map_err(error)? {
            let entry = entry.map_err(error)?;
            let name = entry.file_name().to_string_lossy().to_uppercase();
            let is_license = NAMES.iter().any(|prefix| name.starts_with(prefix));
            if is_license && entry.file_type().map_err(error)?.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    let text = |path: PathBuf| {
        let bytes = std::fs::read(&path).map_err(error)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        Ok(lines.join("\n").trim_matches('\n').to_owned())
    };
    files.into_iter().map(text).collect()
}

#[cfg(test)]
#[path = "notices_tests.rs"]
mod tests;
