//! Data files: built into the binary, and overridden or extended by the user's data folder (C-02).
//!
//! A path such as `casts/dialectic.toml` is looked up in the user's folder first. An invalid file there is an error with file,
//! line and what was expected; it never falls back silently to the built-in one.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

static CASTS: Dir = include_dir!("$CARGO_MANIFEST_DIR/casts");
static PROMPTS: Dir = include_dir!("$CARGO_MANIFEST_DIR/prompts");
static TEMPLATES: Dir = include_dir!("$CARGO_MANIFEST_DIR/templates");
static EMBEDDERS: Dir = include_dir!("$CARGO_MANIFEST_DIR/embedders");
static MODES: Dir = include_dir!("$CARGO_MANIFEST_DIR/modes");
static ALGORITHMS: Dir = include_dir!("$CARGO_MANIFEST_DIR/algorithms");
static PRESETS: Dir = include_dir!("$CARGO_MANIFEST_DIR/presets");

/// A kind of data file; each has its own folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKind {
    Casts,
    Prompts,
    Templates,
    Embedders,
    Modes,
    Algorithms,
    Presets,
}

impl DataKind {
    pub const ALL: [Self; 7] = [
        Self::Casts,
        Self::Prompts,
        Self::Templates,
        Self::Embedders,
        Self::Modes,
        Self::Algorithms,
        Self::Presets,
    ];

    pub fn folder(self) -> &'static str {
        self.source().0
    }

    /// The name of the folder, and the built-in files.
    fn source(self) -> (&'static str, &'static Dir<'static>) {
        match self {
            Self::Casts => ("casts", &CASTS),
            Self::Prompts => ("prompts", &PROMPTS),
            Self::Templates => ("templates", &TEMPLATES),
            Self::Embedders => ("embedders", &EMBEDDERS),
            Self::Modes => ("modes", &MODES),
            Self::Algorithms => ("algorithms", &ALGORITHMS),
            Self::Presets => ("presets", &PRESETS),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    #[error("{file}:{line}: {message}")]
    Broken {
        file: String,
        line: usize,
        message: String,
    },
    #[error("unknown {what} '{name}'{}", suggestion(.known, .name))]
    Unknown {
        what: &'static str,
        name: String,
        known: Vec<String>,
    },
    #[error(
        "invalid {what} '{name}': a name has 1 to {MAX_NAME} lowercase letters, digits, '-' and '_'"
    )]
    InvalidName { what: &'static str, name: String },
    #[error("cannot read {file}: {message}")]
    Unreadable { file: String, message: String },
}

/// Longest name of a data file, without its extension.
const MAX_NAME: usize = 64;
/// Data files are read whole. A larger one is not a data file.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

fn suggestion(known: &[String], name: &str) -> String {
    if known.is_empty() {
        return String::new();
    }
    nearest(name, known, "known")
}

/// `; did you mean 'skeptic'?`, or the list of known words after `title` if none is similar.
pub(crate) fn nearest<S: Borrow<str>>(word: &str, known: &[S], title: &str) -> String {
    match closest(word, known.iter().map(S::borrow)) {
        Some(close) => format!("; did you mean '{close}'?"),
        None => format!("; {title}: {}", known.join(", ")),
    }
}

/// The most similar known word, if one is similar enough to be a typo.
pub fn closest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // No known word is that long, and comparing takes time in proportion to both lengths.
    const MAX_WORD: usize = 200;
    known
        .filter(|_| word.len() <= MAX_WORD)
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Whether a name consists of lowercase letters, digits and these marks.
pub fn is_name(name: &str, marks: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || marks.contains(c);
    !name.is_empty() && name.chars().all(is_allowed)
}

/// Whether this is the name of a data file: it names neither another folder nor a hidden file.
fn is_file_stem(name: &str) -> bool {
    name.len() <= MAX_NAME && is_name(name, "-_") && !name.starts_with(['-', '_'])
}

/// Whether every part of this relative path is the name of a folder or of a data file.
fn is_file_path(path: &str) -> bool {
    let stem = path.strip_suffix(".toml").or(path.strip_suffix(".md"));
    stem.is_some_and(|stem| stem.split('/').all(is_file_stem))
}

/// Reads a regular file of at most `limit` bytes. A device may be endless, and a pipe may never be written to.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        let message = "it is a folder";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is a device or a pipe, not a file"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("it is larger than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `limit` bytes as UTF-8.
pub fn read_regular_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, limit)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// A data file and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The path relative to the folder of its kind, with `/`: `dialectic/propose.md`.
    pub name: String,
    pub origin: Origin,
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    BuiltIn,
    File(PathBuf),
}

impl Text {
    fn built_in(name: &str, content: &str) -> Self {
        Self {
            name: name.to_owned(),
            origin: Origin::BuiltIn,
            content: content.to_owned(),
        }
    }

    pub fn read(path: &Path) -> Result<Self, DataError> {
        read(path, &path.display().to_string())
    }

    /// The last line that contains this word in quotes, otherwise line 1. For error messages.
    pub(crate) fn line_naming(&self, word: &str) -> usize {
        let quoted = format!("\"{word}\"");
        let lines = self.content.lines().enumerate();
        let matching = lines.filter(|(_, line)| line.contains(&quoted));
        matching.last().map_or(1, |(index, _)| index + 1)
    }

    /// The line of a value of this TOML file, such as `seats/2/temperature`; that of the nearest table around it if there is no
    /// such value.
    pub(crate) fn line_at(&self, path: &str) -> usize {
        let Ok(document) = DeTable::parse(&self.content) else {
            return 1;
        };
        let root = DeValue::Table(document.into_inner());
        let mut here = &root;
        let mut offset = 0;
        for part in path.split('/') {
            let inner = match here {
                DeValue::Table(table) => table
                    .iter()
                    .find(|(key, _)| key.get_ref() == part)
                    .map(|(key, value)| (key.span().start, value)),
                DeValue::Array(items) => {
                    let index = part.parse::<usize>().ok();
                    let item = index.and_then(|index| items.get(index));
                    item.map(|item| (item.span().start, item))
                }
                _ => None,
            };
            let Some((start, value)) = inner else {
                break;
            };
            offset = start;
            here = value.get_ref();
        }
        line_of(&self.content, offset)
    }

    /// The line of a key outside any table, otherwise line 1.
    pub fn line_of_key(&self, key: &str) -> usize {
        let is_key = |line: &str| {
            let rest = line.strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        self.content.lines().position(is_key).map_or(1, |at| at + 1)
    }

    /// An error in this file.
    pub fn broken(&self, line: usize, message: String) -> DataError {
        DataError::Broken {
            file: self.file(),
            line,
            message,
        }
    }

    pub fn file(&self) -> String {
        match &self.origin {
            Origin::BuiltIn => format!("built-in {}", self.name),
            Origin::File(path) => path.display().to_string(),
        }
    }

    /// Parses TOML.
    ///
    /// # Errors
    /// [`DataError::Broken`] with file and line.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        toml::from_str(&self.content).map_err(|error| {
            let span = error.span();
            let line = span.map_or(1, |span| line_of(&self.content, span.start));
            self.broken(line, plain_message(error.message()))
        })
    }
}

/// An error of the TOML parser in the words of a person who wrote the file.
pub fn plain_message(message: &str) -> String {
    const WORDS: [(&str, &str); 10] = [
        ("expected f64", "expected a number"),
        ("expected u8", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected usize", "expected a whole number"),
        ("expected a string", "expected text in quotes"),
        ("expected a sequence", "expected a list"),
        ("expected a boolean", "expected true or false"),
        ("missing field", "missing key"),
        ("unknown variant", "unknown value"),
    ];
    let message = message.replace('\n', " ");
    if let Some(named) = unknown_name(&message) {
        return named;
    }
    WORDS
        .iter()
        .fold(message, |text, (from, to)| text.replace(from, to))
        .replace('`', "'")
}

/// `unknown field …, expected one of …` with the nearest name instead of all of them.
fn unknown_name(message: &str) -> Option<String> {
    let (what, rest) = message
        .strip_prefix("unknown field ")
        .map(|rest| ("key", rest))
        .or_else(|| Some(("value", message.strip_prefix("unknown variant ")?)))?;
    let mut names = rest.split('`').skip(1).step_by(2).map(str::to_owned);
    let name = names.next()?;
    let known: Vec<String> = names.collect();
    Some(format!(
        "unknown {what} '{name}'{}",
        suggestion(&known, &name)
    ))
}

fn line_of(content: &str, offset: usize) -> usize {
    let before = content.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// The built-in data files, overlaid with the user's folders.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// Later folders take precedence.
    folders: Vec<PathBuf>,
}

impl Data {
    pub fn with_folder(folder: PathBuf) -> Self {
        Self::with_folders(vec![folder])
    }

    /// Later folders take precedence.
    pub fn with_folders(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    pub fn built_in() -> Self {
        Self::default()
    }

    /// All files of a kind by name; a file of the user replaces the built-in one of the same name.
    pub fn all(&self, kind: DataKind) -> Result<BTreeMap<String, Text>, DataError> {
        let mut texts = BTreeMap::new();
        collect_built_in(kind.source().1, &mut texts);
        for folder in &self.folders {
            let root = folder.join(kind.folder());
            collect_folder(&root, &root, &mut texts)?;
        }
        Ok(texts)
    }

    /// The file with this path in the folder of its kind. `None` also for a path that leads elsewhere.
    pub fn one(&self, kind: DataKind, name: &str) -> Result<Option<Text>, DataError> {
        if !is_file_path(name) {
            return Ok(None);
        }
        for folder in self.folders.iter().rev() {
            let path = folder.join(kind.folder()).join(name);
            if path.is_file() {
                return read(&path, name).map(Some);
            }
        }
        let file = kind.source().1.get_file(name);
        let content = file.and_then(include_dir::File::contents_utf8);
        Ok(content.map(|content| Text::built_in(name, content)))
    }

    /// The file `NAME.toml`.
    ///
    /// # Errors
    /// [`DataError::Unknown`] with the known names, if there is none; [`DataError::InvalidName`] if there cannot be one.
    pub fn named(&self, kind: DataKind, what: &'static str, name: &str) -> Result<Text, DataError> {
        if !is_file_stem(name) {
            let name = name.chars().take(MAX_NAME).collect();
            return Err(DataError::InvalidName { what, name });
        }
        match self.one(kind, &format!("{name}.toml"))? {
            Some(text) => Ok(text),
            None => Err(DataError::Unknown {
                what,
                name: name.to_owned(),
                known: self.names(kind)?,
            }),
        }
    }

    /// The names of the TOML files of a kind.
    pub fn names(&self, kind: DataKind) -> Result<Vec<String>, DataError> {
        let files = self.all(kind)?.into_keys();
        let names = files.filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned()));
        Ok(names.collect())
    }
}

fn collect_built_in(dir: &Dir<'_>, texts: &mut BTreeMap<String, Text>) {
    for file in dir.files() {
        if let (Some(name), Some(content)) = (file.path().to_str(), file.contents_utf8()) {
            texts.insert(name.to_owned(), Text::built_in(name, content));
        }
    }
    for inner in dir.dirs() {
        collect_built_in(inner, texts);
    }
}

fn collect_folder(
    root: &Path,
    folder: &Path,
    texts: &mut BTreeMap<String, Text>,
) -> Result<(), DataError> {
    let unreadable = |error: io::Error| DataError::Unreadable {
        file: folder.display().to_string(),
        message: error.to_string(),
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unreadable(error)),
    };
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            collect_folder(root, &path, texts)?;
        } else if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            let is_data = matches!(
                path.extension().and_then(|ext| ext.to_str()),
                Some("toml" | "md")
            );
            if is_data {
                let name = name.replace('\\', "/");
                texts.insert(name.clone(), read(&path, &name)?);
            }
        }
    }
    Ok(())
}

fn read(path: &Path, name: &str) -> Result<Text, DataError> {
    let content =
        read_regular_text(path, MAX_FILE_BYTES).map_err(|error| DataError::Unreadable {
            file: path.display().to_string(),
            message: error.to_string(),
        })?;
    Ok(Text {
        name: name.to_owned(),
        origin: Origin::File(path.to_owned()),
        content,
    })
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
