//! Python wheels: a zip archive with the program as a script, metadata, and a hash of every file.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::entry::Entry;

/// A wheel names the C libraries that it runs with. A static program runs with all of them: glibc from the oldest version that
/// registries accept today, and musl.
fn platforms(architecture: &str) -> String {
    ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]
        .map(|library| format!("{library}_{architecture}"))
        .join(".")
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Wheel<'a> {
    /// With underscores.
    pub(crate) name: &'a str,
    /// As Python writes it.
    pub(crate) version: &'a str,
    pub(crate) architecture: &'a str,
    pub(crate) summary: &'a str,
    /// Markdown.
    pub(crate) description: &'a str,
}

impl Wheel<'_> {
    pub(crate) fn file_name(&self) -> String {
        let platforms = platforms(self.architecture);
        format!("{}-{}-py3-none-{platforms}.whl", self.name, self.version)
    }

    /// `scripts` are installed next to `python`; `licenses` are part of the metadata.
    pub(crate) fn package(&self, scripts: &[Entry], licenses: &[Entry]) -> Result<Vec<u8>, String> {
        let base = format!("{}-{}", self.name, self.version);
        let info = format!("{base}.dist-info");
        let moved = |entry: &Entry, folder: &str| Entry {
            path: format!("{folder}/{}", entry.path),
            ..entry.clone()
        };
        let mut files: Vec<Entry> = scripts
            .iter()
            .map(|script| moved(script, &format!("{base}.data/scripts")))
            .collect();
        files.extend(
            licenses
                .iter()
                .map(|license| moved(license, &format!("{info}/licenses"))),
        );
        files.push(Entry::text(
            format!("{info}/METADATA"),
            self.metadata(licenses),
        ));
        files.push(Entry::text(format!("{info}/WHEEL"), self.compatibility()));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let path = format!("{info}/RECORD");
        let record = record(&files, &path);
        // Last, as the specification recommends.
        files.push(Entry::text(path, record));
        zip(&files)
    }

    fn metadata(&self, licenses: &[Entry]) -> String {
        let mut text = format!(
            "Metadata-Version: 2.4\nName: {}\nVersion: {}\nSummary: {}\nLicense-Expression: MIT OR Apache-2.0\n",
            self.name.replace('_', "-"),
            self.version,
            self.summary,
        );
        for license in licenses {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "License-File: {}", license.path);
        }
        text + "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
            + self.description
    }

    fn compatibility(&self) -> String {
        let mut text =
            "Wheel-Version: 1.0\nGenerator: roundtable xtask\nRoot-Is-Purelib: false\n".to_owned();
        for platform in platforms(self.architecture).split('.') {
            let _ = writeln!(text, "Tag: py3-none-{platform}");
        }
        text
    }
}

fn record(files: &[Entry], own_path: &str) -> String {
    let mut text = String::new();
    for file in files {
        let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&file.content));
        let _ = writeln!(text, "{},sha256={hash},{}", file.path, file.content.len());
    }
    let _ = writeln!(text, "{own_path},,");
    text
}

/// The time of every file is the earliest that the format knows: the date of a wheel is that of its upload.
fn zip(files: &[Entry]) -> Result<Vec<u8>, String> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default());
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        let started = writer.start_file(&*file.path, options.unix_permissions(file.mode()));
        started.map_err(|error| format!("cannot pack {}: {error}", file.path))?;
        let written = writer.write_all(&file.content);
        written.map_err(|error| format!("cannot pack {}: {error}", file.path))?;
    }
    let finished = writer
        .finish()
        .map_err(|error| format!("cannot pack: {error}"))?;
    Ok(finished.into_inner())
}

#[cfg(test)]
#[path = "wheel_tests.rs"]
mod tests;
