//! What the user gives to be read (M-15): files or texts, taken in once, when a debate is opened, and cut into passages.
//!
//! Markdown, text, HTML, CSV and the text of PDF files. Whatever cannot be read says why; nothing here reads anything else
//! than what it is given.

mod csv;
mod html;
mod pdf;

use std::io::Read;
use std::path::Path;

use roundtable_core::sources::{Source, of_pages, of_rows, of_text};
use sha2::{Digest, Sha256};

use crate::failure::{Failure, Fault};

const MOST_SOURCES: usize = 20;
const MOST_BYTES: u64 = 20_000_000;
/// All that is kept with the debate, in characters.
const MOST_CHARACTERS: usize = 2_000_000;
/// The longest name of a source: it is a part of every id.
const LONGEST_NAME: usize = 60;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Unusable {
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is a folder; give the files in it")]
    Folder,
    #[error("is larger than {} MB; give the part of it that matters", MOST_BYTES / 1_000_000)]
    TooLarge,
    #[error("is not text: Markdown, text, HTML, CSV and PDF files can be read")]
    Binary,
    #[error("has nothing in it")]
    Empty,
    #[error("is no CSV table: {0}")]
    NoTable(String),
    #[error("is a PDF file that cannot be read: {0}")]
    BrokenPdf(String),
    #[error("is a PDF file without text, such as a scan; give its text")]
    NoTextInPdf,
}

/// Reads files. Everything that is wrong with any of them is told at once.
pub(crate) fn files(paths: &[impl AsRef<Path>]) -> Result<Vec<Source>, Failure> {
    let mut faults = Vec::new();
    let mut sources = Sources::default();
    for path in paths {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let read = bytes(path).and_then(|bytes| sources.add(&name, &bytes));
        if let Err(reason) = read {
            let message = format!("{} {reason}", path.display());
            faults.push(Fault::new("--source", message));
        }
    }
    faults.extend(sources.too_much("--source"));
    if faults.is_empty() {
        return Ok(sources.list);
    }
    Err(Failure::refused(faults))
}

/// Takes in texts that come with a name; the name's ending says of what kind each is.
pub(crate) fn texts<'t>(
    given: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<Vec<Source>, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut sources = Sources::default();
    for (index, (name, text)) in given.into_iter().enumerate() {
        if let Err(reason) = sources.add(name, text.as_bytes()) {
            let message = format!("'{}' {reason}", sound(name));
            faults.push(Fault::new(format!("/sources/{index}"), message));
        }
    }
    faults.extend(sources.too_much("/sources"));
    if faults.is_empty() {
        return Ok(sources.list);
    }
    Err(faults)
}

fn bytes(path: &Path) -> Result<Vec<u8>, Unusable> {
    let unreadable = |error: std::io::Error| Unusable::Unreadable(error.to_string());
    if path.is_dir() {
        return Err(Unusable::Folder);
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // Counted while it is read: a device has no size and no end.
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Unusable::TooLarge);
    }
    Ok(bytes)
}

#[derive(Default)]
struct Sources {
    list: Vec<Source>,
    characters: usize,
}

impl Sources {
    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Unusable> {
        let name = self.own_name(name);
        let passages = match Kind::of(&name, bytes) {
            Kind::Pdf => of_pages(&name, &pdf::pages(bytes)?),
            Kind::Html => of_text(&name, &html::text(&decoded(bytes)?)),
            Kind::Csv => of_rows(&name, &csv::rows(&decoded(bytes)?)?),
            Kind::Text => of_text(&name, &decoded(bytes)?),
        };
        if passages.is_empty() {
            return Err(Unusable::Empty);
        }
        let lengths = passages.iter().map(|it| it.text.chars().count());
        self.characters += lengths.sum::<usize>();
        self.list.push(Source {
            name,
            sha256: hex(bytes),
            passages,
        });
        Ok(())
    }

    /// Two files of one name are told apart by a number.
    fn own_name(&self, name: &str) -> String {
        let name = sound(name);
        let is_taken = |name: &str| {
            let mut known = self.list.iter();
            known.any(|it| it.name.eq_ignore_ascii_case(name))
        };
        if !is_taken(&name) {
            return name;
        }
        let (stem, ending) = match name.rsplit_once('.') {
            Some((stem, ending)) => (stem.to_owned(), format!(".{ending}")),
            None => (name.clone(), String::new()),
        };
        // One more than there are: at least one of them is free.
        (2..=self.list.len() + 2)
            .map(|number| format!("{stem} ({number}){ending}"))
            .find(|name| !is_taken(name))
            .unwrap_or(name)
    }

    fn too_much(&self, at: &str) -> Option<Fault> {
        if self.list.len() > MOST_SOURCES {
            let message = format!(
                "{} sources are too many: at most {MOST_SOURCES} can be given",
                self.list.len()
            );
            return Some(Fault::new(at, message));
        }
        (self.characters > MOST_CHARACTERS).then(|| {
            let message = format!(
                "the sources have {} characters together; at most {} can be given",
                crate::format::grouped(self.characters as u64),
                crate::format::grouped(MOST_CHARACTERS as u64)
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
    /// By how it begins, else by the name's ending.
    fn of(name: &str, bytes: &[u8]) -> Self {
        let head = bytes.get(..1024).unwrap_or(bytes);
        let lower = head.trim_ascii_start().to_ascii_lowercase();
        if head.windows(5).any(|it| it == b"%PDF-") && !lower.starts_with(b"<") {
            return Self::Pdf;
        }
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_lowercase());
        match ending.as_deref() {
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some("csv" | "tsv") => Self::Csv,
            _ if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") => Self::Html,
            _ => Self::Text,
        }
    }
}

/// UTF-8, UTF-16 with its mark, or one of the old one-byte alphabets of the West.
fn decoded(bytes: &[u8]) -> Result<String, Unusable> {
    let wide = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| read([pair[0], pair[1]]))
            .collect();
        String::from_utf16(&units).map_err(|_| Unusable::Binary)
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
    let strange = |c: &char| c.is_control() && !c.is_whitespace();
    let count = text.chars().filter(strange).count();
    if text.contains('\0') || count * 100 > text.len() {
        return Err(Unusable::Binary);
    }
    Ok(text)
}

/// A name that can stand in ids, prompts and tables.
fn sound(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            let unfit = c.is_control() || "\"'`<>[]{}|:/\\#".contains(c);
            if unfit { '_' } else { c }
        })
        .collect();
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = name.chars().count();
    if name.is_empty() {
        return "source".to_owned();
    }
    // The end of a name has its kind, and often what tells it from others.
    name.chars()
        .skip(length.saturating_sub(LONGEST_NAME))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut hex, byte| {
        use std::fmt::Write;
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
