//! Sources that the user provides (M-15): files or texts, read once when a debate is created, and split into passages.
//!
//! Supports Markdown, plain text, HTML, CSV and the text of PDF files. Reads only the given files.

mod csv;
mod html;
pub(crate) mod pdf;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use roundtable_core::hex;
use roundtable_core::sources::{Source, of_pages, of_rows, of_text};
use roundtable_engine::data::read_regular;
use sha2::{Digest, Sha256};

use crate::failure::{Failure, Fault};

const MAX_SOURCES: usize = 20;
const MAX_BYTES: u64 = 20_000_000;
/// For all sources of a debate.
const MAX_CHARACTERS: usize = 2_000_000;
/// In characters: the name of a source is part of every passage id.
const MAX_NAME: usize = 60;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum SourceError {
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is a folder; pass the files in it")]
    Folder,
    #[error("is larger than {} MB; pass only the relevant part", MAX_BYTES / 1_000_000)]
    TooLarge,
    #[error("has more than {} characters with the headings of its columns; pass only the relevant part", crate::format::grouped(MAX_CHARACTERS as u64))]
    TooLong,
    #[error("is a PDF file, which is not read here; pass its text")]
    PdfRefused,
    #[error("is not text: supported are Markdown, text, HTML, CSV and PDF files")]
    Binary,
    #[error("is empty")]
    Empty,
    #[error("is not a CSV table: {0}")]
    NoTable(String),
    #[error("is an unreadable PDF file: {0}")]
    BrokenPdf(String),
    #[error("is a PDF file without text, such as a scan; pass its text")]
    NoTextInPdf,
}

/// Reads files in a thread of their own. All errors are reported at once.
pub(crate) async fn files(paths: Vec<PathBuf>) -> Result<Vec<Source>, Failure> {
    let reading = tokio::task::spawn_blocking(move || read_files(&paths, pdf::pages));
    let read = reading.await;
    read.unwrap_or_else(|error| Err(Failure::other(format!("cannot read the sources: {error}"))))
}

fn read_files(paths: &[PathBuf], pdf: PdfReader) -> Result<Vec<Source>, Failure> {
    let mut faults = Vec::new();
    let mut sources = Sources::new(pdf);
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let read = bytes(path).and_then(|bytes| sources.add(&name, &bytes));
        if let Err(reason) = read {
            let message = format!("{} {reason}", path.display());
            faults.push(Fault::new("--source", message));
        }
    }
    faults.extend(sources.check_limits("--source"));
    if faults.is_empty() {
        return Ok(sources.list);
    }
    Err(Failure::refused(faults))
}

/// Reads named texts. The extension of the name determines the format. PDF files are refused: parsing a hostile one needs limits
/// that a server does not have. Takes a while for long texts, so it must not run on a thread of the runtime.
pub(crate) fn texts<'t>(
    given: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<Vec<Source>, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut sources = Sources::new(|_| Err(SourceError::PdfRefused));
    for (index, (name, text)) in given.into_iter().enumerate() {
        if let Err(reason) = sources.add(name, text.as_bytes()) {
            let message = format!("'{}' {reason}", sanitize_name(name));
            faults.push(Fault::new(format!("/sources/{index}"), message));
        }
    }
    faults.extend(sources.check_limits("/sources"));
    if faults.is_empty() {
        return Ok(sources.list);
    }
    Err(faults)
}

fn bytes(path: &Path) -> Result<Vec<u8>, SourceError> {
    read_regular(path, MAX_BYTES).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory => SourceError::Folder,
        ErrorKind::FileTooLarge => SourceError::TooLarge,
        _ => SourceError::Unreadable(error.to_string()),
    })
}

/// Returns the text of each page.
type PdfReader = fn(&[u8]) -> Result<Vec<String>, SourceError>;

struct Sources {
    list: Vec<Source>,
    characters: usize,
    pdf: PdfReader,
}

impl Sources {
    fn new(pdf: PdfReader) -> Self {
        Self {
            list: Vec::new(),
            characters: 0,
            pdf,
        }
    }

    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), SourceError> {
        let name = self.unique_name(name);
        let passages = match Kind::of(&name, bytes) {
            Kind::Pdf => of_pages(&name, &(self.pdf)(bytes)?),
            Kind::Html => of_text(&name, &html::text(&decode(bytes)?)),
            Kind::Csv => of_rows(&name, &csv::rows(&decode(bytes)?, MAX_CHARACTERS)?),
            Kind::Text => of_text(&name, &decode(bytes)?),
        };
        if passages.is_empty() {
            return Err(SourceError::Empty);
        }
        let lengths = passages.iter().map(|passage| passage.text.chars().count());
        self.characters += lengths.sum::<usize>();
        self.list.push(Source {
            name,
            sha256: sha256_hex(bytes),
            passages,
        });
        Ok(())
    }

    /// Adds a number if another source has this name.
    fn unique_name(&self, name: &str) -> String {
        let name = sanitize_name(name);
        let is_taken = |name: &str| {
            let mut known = self.list.iter();
            known.any(|source| source.name.eq_ignore_ascii_case(name))
        };
        if !is_taken(&name) {
            return name;
        }
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) => (stem.to_owned(), format!(".{extension}")),
            None => (name.clone(), String::new()),
        };
        // More candidates than sources, so one of them is free.
        (2..=self.list.len() + 2)
            .map(|number| format!("{stem} ({number}){extension}"))
            .find(|name| !is_taken(name))
            .unwrap_or(name)
    }

    fn check_limits(&self, at: &str) -> Option<Fault> {
        if self.list.len() > MAX_SOURCES {
            let message = format!(
                "too many sources: {}; at most {MAX_SOURCES} are allowed",
                self.list.len()
            );
            return Some(Fault::new(at, message));
        }
        (self.characters > MAX_CHARACTERS).then(|| {
            let message = format!(
                "the sources have {} characters in total; at most {} are allowed",
                crate::format::grouped(self.characters as u64),
                crate::format::grouped(MAX_CHARACTERS as u64)
            );
            Fault::new(at, message)
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Html,
    Csv,
    Pdf,
}

impl Kind {
    /// By the first bytes, otherwise by the extension.
    fn of(name: &str, bytes: &[u8]) -> Self {
        let head = bytes.get(..1024).unwrap_or(bytes);
        let lower = head.trim_ascii_start().to_ascii_lowercase();
        if head.windows(5).any(|bytes| bytes == b"%PDF-") && !lower.starts_with(b"<") {
            return Self::Pdf;
        }
        let extension = name
            .rsplit_once('.')
            .map(|(_, extension)| extension.to_lowercase());
        match extension.as_deref() {
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some("csv" | "tsv") => Self::Csv,
            _ if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") => Self::Html,
            _ => Self::Text,
        }
    }
}

/// Decodes UTF-8, UTF-16 with a byte order mark, or Latin-1.
fn decode(bytes: &[u8]) -> Result<String, SourceError> {
    let wide = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| read([pair[0], pair[1]]))
            .collect();
        String::from_utf16(&units).map_err(|_| SourceError::Binary)
    };
    let text = if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        wide(rest, u16::from_le_bytes)?
    } else if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        wide(rest, u16::from_be_bytes)?
    } else {
        match std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        }
    };
    let is_binary = |c: &char| c.is_control() && !c.is_whitespace();
    let count = text.chars().filter(is_binary).count();
    if text.contains('\0') || count * 100 > text.len() {
        return Err(SourceError::Binary);
    }
    Ok(text)
}

/// A name that is safe in ids, prompts and tables.
fn sanitize_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            let is_unsafe = c.is_control() || "\"'`<>[]{}|:/\\#".contains(c);
            if is_unsafe { '_' } else { c }
        })
        .collect();
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = name.chars().count();
    if name.is_empty() {
        return "source".to_owned();
    }
    // Keeps the end, which has the extension and often the distinguishing part.
    name.chars().skip(length.saturating_sub(MAX_NAME)).collect()
}

fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
