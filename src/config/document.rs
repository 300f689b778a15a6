//! Reads `roundtable.toml` key by key. The keys that a section asks for serve parsing, the check for unknown keys and
//! `config show`. serde is not used because it stops at the first error, and all errors are reported at once.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml_edit::{Item, Key, TableLike};

use super::environment::{Environment, Secret};
use super::name::{ModelName, nearest};
use super::{Fault, Origin, Setting};

pub(super) const SECONDS: RangeInclusive<f64> = 0.001..=86_400.0;

/// The line of a span, counted from 1.
pub(super) fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let end = span.map_or(0, |span| span.start.min(text.len()));
    1 + text
        .get(..end)
        .map_or(0, |before| before.matches('\n').count())
}

/// The state shared by all sections of a file.
pub(super) struct Reader<'t> {
    text: &'t str,
    path: Option<&'t Path>,
    pub environment: &'t Environment,
    /// Set when the `[providers]` sections have been read.
    pub provider_names: Vec<String>,
    pub faults: Vec<Fault>,
    pub settings: Vec<Setting>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, path: Option<&'t Path>, environment: &'t Environment) -> Self {
        Self {
            text,
            path,
            environment,
            provider_names: Vec::new(),
            faults: Vec::new(),
            settings: Vec::new(),
        }
    }

    fn line(&self, key: Option<&Key>) -> usize {
        line_of(self.text, key.and_then(Key::span))
    }

    /// The folder of the file; empty without a file.
    pub(super) fn folder(&self) -> &Path {
        self.path.and_then(Path::parent).unwrap_or(Path::new(""))
    }

    pub(super) fn fault(&mut self, line: usize, message: impl Into<String>) {
        let message = message.into();
        self.faults.push(Fault { line, message });
    }
}

/// One table of the file; `None` if the file does not have it.
pub(super) struct Section<'r, 't> {
    pub reader: &'r mut Reader<'t>,
    /// Such as `providers.lab`; empty for the whole file.
    name: String,
    table: Option<&'t dyn TableLike>,
    known: Vec<&'static str>,
}

/// A value of the file and its line.
pub(super) struct Given<T> {
    pub value: T,
    pub line: usize,
}

impl<'r, 't> Section<'r, 't> {
    pub(super) fn new(
        reader: &'r mut Reader<'t>,
        name: impl Into<String>,
        table: Option<&'t dyn TableLike>,
    ) -> Self {
        Self {
            reader,
            name: name.into(),
            table,
            known: Vec::new(),
        }
    }

    /// Reads a table below this one.
    pub(super) fn section<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Section<'_, 't>) -> T,
    ) -> T {
        let table = self.table(name);
        let mut section = Section::new(self.reader, name, table);
        let value = read(&mut section);
        section.finish();
        value
    }

    fn full_key(&self, key: &str) -> String {
        if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        }
    }

    pub(super) fn fault(&mut self, line: usize, message: impl Into<String>) {
        self.reader.fault(line, message);
    }

    fn entry(&mut self, key: &'static str) -> Option<(&'t Key, &'t Item)> {
        self.known.push(key);
        self.table
            .and_then(|table| table.get_key_value(key))
            .filter(|(_, item)| !item.is_none())
    }

    /// Reads one value; the error of `read` says what is expected.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Item) -> Result<T, String>,
    ) -> Option<Given<T>> {
        let (name, item) = self.entry(key)?;
        let line = self.reader.line(Some(name));
        match read(item) {
            Ok(value) => Some(Given { value, line }),
            Err(expected) => {
                let (full, value) = (self.full_key(key), excerpt(item));
                self.fault(line, format!("invalid {full} {value}: {expected}"));
                None
            }
        }
    }

    /// Reads a text that an error message must not repeat.
    pub(super) fn read_secret(
        &mut self,
        key: &'static str,
        is_valid: impl FnOnce(&str) -> bool,
        expected: &str,
    ) -> Option<Given<Secret>> {
        let (name, item) = self.entry(key)?;
        let line = self.reader.line(Some(name));
        let text = item.as_str().unwrap_or_default().trim();
        if is_valid(text) {
            let value = Secret::new(text);
            return Some(Given { value, line });
        }
        let full = self.full_key(key);
        self.fault(line, format!("invalid {full}: {expected}"));
        None
    }

    pub(super) fn record<T: Display>(&mut self, key: &str, value: Option<T>, line: Option<usize>) {
        let origin = match (line, self.reader.path) {
            (Some(line), Some(path)) => Origin::File {
                path: path.to_path_buf(),
                line,
            },
            (Some(_), None) | (None, _) => Origin::Default,
        };
        self.record_from(key, value, origin);
    }

    pub(super) fn record_variable(&mut self, key: &str, value: impl Display, variable: &str) {
        let variable = variable.to_owned();
        self.record_from(key, Some(value), Origin::Environment { variable });
    }

    fn record_from<T: Display>(&mut self, key: &str, value: Option<T>, origin: Origin) {
        let key = self.full_key(key);
        let value = value.map(|value| value.to_string());
        self.reader.settings.push(Setting { key, value, origin });
    }

    pub(super) fn or_default<T: Copy + Display>(
        &mut self,
        key: &str,
        given: Option<Given<T>>,
        default: T,
    ) -> T {
        let line = given.as_ref().map(|given| given.line);
        let value = given.map_or(default, |given| given.value);
        self.record(key, Some(value), line);
        value
    }

    pub(super) fn optional<T: Display>(&mut self, key: &str, given: Option<Given<T>>) -> Option<T> {
        let line = given.as_ref().map(|given| given.line);
        let value = given.map(|given| given.value);
        self.record(key, value.as_ref(), line);
        value
    }

    pub(super) fn whole<T>(
        &mut self,
        key: &'static str,
        range: RangeInclusive<T>,
    ) -> Option<Given<T>>
    where
        T: Copy + Display + PartialOrd + TryFrom<i64>,
    {
        self.read(key, |item| {
            item.as_integer()
                .and_then(|number| T::try_from(number).ok())
                .filter(|number| range.contains(number))
                .ok_or_else(|| {
                    let (min, max) = (range.start(), range.end());
                    format!("expected a whole number from {min} to {max}")
                })
        })
    }

    pub(super) fn whole_or<T>(
        &mut self,
        key: &'static str,
        range: RangeInclusive<T>,
        default: T,
    ) -> T
    where
        T: Copy + Display + PartialOrd + TryFrom<i64>,
    {
        let given = self.whole(key, range);
        self.or_default(key, given, default)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "whole numbers in a settings file are far below 2^53"
    )]
    pub(super) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Option<Given<f64>> {
        self.read(key, |item| {
            item.as_float()
                .or_else(|| item.as_integer().map(|whole| whole as f64))
                .filter(|number| range.contains(number))
                .ok_or_else(|| {
                    let (min, max) = (range.start(), range.end());
                    format!("expected a number from {min} to {max}")
                })
        })
    }

    pub(super) fn number_or(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
        default: f64,
    ) -> f64 {
        let given = self.number(key, range);
        self.or_default(key, given, default)
    }

    pub(super) fn share_or(&mut self, key: &'static str, default: f64) -> f64 {
        self.number_or(key, 0.0..=1.0, default)
    }

    pub(super) fn seconds_or(&mut self, key: &'static str, default: Duration) -> Duration {
        Duration::from_secs_f64(self.number_or(key, SECONDS, default.as_secs_f64()))
    }

    pub(super) fn milliseconds_or(&mut self, key: &'static str, default: Duration) -> Duration {
        let default = u64::try_from(default.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.whole_or(key, 1..=3_600_000, default))
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<Given<String>> {
        self.read(key, |item| {
            item.as_str()
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .ok_or_else(|| "expected text in quotes".to_owned())
        })
    }

    pub(super) fn model(&mut self, key: &'static str) -> Option<ModelName> {
        let names = self.reader.provider_names.clone();
        let given = self.read(key, |item| {
            let text = item.as_str().unwrap_or_default();
            ModelName::parse(text, names.iter().map(String::as_str))
                .map_err(|error| error.to_string())
        });
        self.optional(key, given)
    }

    /// A path, relative to the folder of the file. The variable has priority: it is set for one run, the file for all.
    pub(super) fn path(
        &mut self,
        key: &'static str,
        variable: &str,
        default: Option<PathBuf>,
    ) -> Option<PathBuf> {
        let given = self.text(key);
        let environment = self.reader.environment;
        if let Some(path) = environment.path(variable) {
            self.record_variable(key, path.display(), variable);
            return Some(path);
        }
        let line = given.as_ref().map(|given| given.line);
        let folder = self.reader.folder();
        let given = given.map(|given| {
            match given
                .value
                .strip_prefix("~/")
                .zip(environment.folders.as_ref())
            {
                Some((rest, folders)) => folders.home.join(rest),
                None => folder.join(&given.value),
            }
        });
        let path = given.or(default);
        self.record(key, path.as_deref().map(Path::display), line);
        path
    }

    /// Whether the key has this text.
    pub(super) fn is_text(&self, key: &str, text: &str) -> bool {
        let item = self.table.and_then(|table| table.get(key));
        item.and_then(Item::as_str) == Some(text)
    }

    pub(super) fn is_absent(&self, key: &str) -> bool {
        self.table.is_none_or(|table| !table.contains_key(key))
    }

    /// All tables below this one.
    pub(super) fn tables(&mut self) -> Vec<(&'t str, &'t dyn TableLike, usize)> {
        let mut tables = Vec::new();
        for (name, item, line) in self.entries() {
            match item.as_table_like() {
                Some(table) => tables.push((name, table, line)),
                None => self.fault_not_a_table(name, line),
            }
        }
        tables
    }

    /// All entries of this table, with their lines.
    pub(super) fn entries(&self) -> Vec<(&'t str, &'t Item, usize)> {
        let Some(table) = self.table else {
            return Vec::new();
        };
        let line = |name| self.reader.line(table.key(name));
        table
            .iter()
            .map(|(name, item)| (name, item, line(name)))
            .collect()
    }

    pub(super) fn table(&mut self, key: &'static str) -> Option<&'t dyn TableLike> {
        let (name, item) = self.entry(key)?;
        let table = item.as_table_like();
        if table.is_none() {
            self.fault_not_a_table(key, self.reader.line(Some(name)));
        }
        table
    }

    fn fault_not_a_table(&mut self, key: &str, line: usize) {
        let full = self.full_key(key);
        self.fault(line, format!("{full} must be a table: [{full}]"));
    }

    /// Reports every key that was not read.
    pub(super) fn finish(self) {
        for (key, item, line) in self.entries() {
            if self.known.contains(&key) {
                continue;
            }
            let unknown = match (self.name.as_str(), item.is_table_like()) {
                ("", true) => format!("unknown section [{key}]"),
                ("", false) => format!("unknown key '{key}' outside any section"),
                (name, _) => format!("unknown key '{key}' in [{name}]"),
            };
            let hint = match nearest(key, self.known.iter().copied()) {
                Some(word) => format!("did you mean '{word}'?"),
                None => format!("known: {}", self.known.join(", ")),
            };
            let warning = if key == "api_key" {
                " Do not write keys into this file: set an environment variable and name it here"
            } else {
                ""
            };
            self.reader
                .fault(line, format!("{unknown}; {hint}{warning}"));
        }
    }
}

fn excerpt(item: &Item) -> String {
    let text = item.to_string();
    let text = text.trim();
    if text.chars().count() <= 40 {
        text.to_owned()
    } else {
        text.chars().take(40).chain(['…']).collect()
    }
}
