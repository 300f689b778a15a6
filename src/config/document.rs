//! Reads the tables of a TOML file key by key and remembers what was asked for, so that one list of keys serves the
//! reading, the complaint about unknown keys and `config show`.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use toml_edit::{Item, Key, TableLike};

use super::name::nearest;
use super::{Fault, Origin, Setting};

/// The line where something stands, counted from 1.
pub(super) fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let end = span.map_or(0, |span| span.start.min(text.len()));
    1 + text
        .get(..end)
        .map_or(0, |before| before.matches('\n').count())
}

/// What comes of reading a file, beside the values.
pub(super) struct Findings<'t> {
    text: &'t str,
    path: Option<&'t Path>,
    pub faults: Vec<Fault>,
    pub settings: Vec<Setting>,
}

impl<'t> Findings<'t> {
    pub(super) fn new(text: &'t str, path: Option<&'t Path>) -> Self {
        Self {
            text,
            path,
            faults: Vec::new(),
            settings: Vec::new(),
        }
    }

    pub(super) fn line(&self, span: Option<Range<usize>>) -> usize {
        line_of(self.text, span)
    }

    pub(super) fn fault(&mut self, line: usize, message: impl Into<String>) {
        self.faults.push(Fault {
            line,
            message: message.into(),
        });
    }

    pub(super) fn setting(&mut self, key: String, value: Option<String>, origin: Origin) {
        self.settings.push(Setting { key, value, origin });
    }

    pub(super) fn origin(&self, line: Option<usize>) -> Origin {
        match (line, self.path) {
            (Some(line), Some(path)) => Origin::File {
                path: path.to_path_buf(),
                line,
            },
            (Some(_), None) | (None, _) => Origin::Default,
        }
    }
}

/// One table of the file, or its absence.
pub(super) struct Section<'f, 't, 'd> {
    findings: &'f mut Findings<'t>,
    /// As in `providers.lab`; empty for the whole file.
    path: String,
    table: Option<&'d dyn TableLike>,
    asked: Vec<&'static str>,
}

/// A value of the file and the line it stands on.
pub(super) struct Given<T> {
    pub value: T,
    pub line: usize,
}

impl<'f, 't, 'd> Section<'f, 't, 'd> {
    pub(super) fn new(
        findings: &'f mut Findings<'t>,
        path: impl Into<String>,
        table: Option<&'d dyn TableLike>,
    ) -> Self {
        Self {
            findings,
            path: path.into(),
            table,
            asked: Vec::new(),
        }
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub(super) fn fault(&mut self, line: usize, message: impl Into<String>) {
        self.findings.fault(line, message);
    }

    fn entry(&mut self, key: &'static str) -> Option<(&'d Key, &'d Item)> {
        self.asked.push(key);
        self.table
            .and_then(|table| table.get_key_value(key))
            .filter(|(_, item)| !item.is_none())
    }

    /// Reads one value; `expected` completes the sentence "it has to be …".
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Item) -> Result<T, String>,
    ) -> Option<Given<T>> {
        let (name, item) = self.entry(key)?;
        let line = self.findings.line(name.span());
        match read(item) {
            Ok(value) => Some(Given { value, line }),
            Err(expected) => {
                let shown = shown(item);
                let full = self.full(key);
                self.findings
                    .fault(line, format!("{full} is {shown}, but has to be {expected}"));
                None
            }
        }
    }

    /// Reads a text that a complaint must not repeat.
    pub(super) fn read_secret<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Given<T>> {
        let (name, item) = self.entry(key)?;
        let line = self.findings.line(name.span());
        match read(item.as_str().unwrap_or_default().trim()) {
            Ok(value) => Some(Given { value, line }),
            Err(expected) => {
                let full = self.full(key);
                self.findings
                    .fault(line, format!("{full} has to be {expected}"));
                None
            }
        }
    }

    pub(super) fn record<T: Display>(&mut self, key: &str, value: Option<T>, line: Option<usize>) {
        let origin = self.findings.origin(line);
        let full = self.full(key);
        self.findings
            .setting(full, value.map(|value| value.to_string()), origin);
    }

    pub(super) fn record_from(&mut self, key: &str, value: impl Display, variable: &str) {
        let origin = Origin::Environment {
            variable: variable.to_owned(),
        };
        let full = self.full(key);
        self.findings.setting(full, Some(value.to_string()), origin);
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
                .ok_or_else(|| format!("a whole number from {} to {}", range.start(), range.end()))
        })
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
                .ok_or_else(|| format!("a number from {} to {}", range.start(), range.end()))
        })
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<Given<String>> {
        self.read(key, |item| {
            item.as_str()
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .ok_or_else(|| "text in quotes".to_owned())
        })
    }

    pub(super) fn is_absent(&self, key: &str) -> bool {
        self.table.is_none_or(|table| !table.contains_key(key))
    }

    pub(super) fn line_of(&self, key: Option<&Key>) -> usize {
        self.findings.line(key.and_then(Key::span))
    }

    /// The tables below this one, with the line of each.
    pub(super) fn tables(&mut self) -> Vec<(&'d str, &'d dyn TableLike, usize)> {
        let mut tables = Vec::new();
        let Some(table) = self.table else {
            return tables;
        };
        for (name, item) in table.iter() {
            let key = table.key(name).and_then(Key::span);
            let line = self.findings.line(key);
            if let Some(inner) = item.as_table_like() {
                tables.push((name, inner, line));
            } else {
                let full = self.full(name);
                self.fault(line, format!("{full} has to be a table: [{full}]"));
            }
        }
        tables
    }

    /// A table within this one that is a key like any other.
    pub(super) fn table(&mut self, key: &'static str) -> Option<&'d dyn TableLike> {
        let (name, item) = self.entry(key)?;
        let table = item.as_table_like();
        if table.is_none() {
            let line = self.findings.line(name.span());
            let full = self.full(key);
            self.fault(line, format!("{full} has to be a table: [{full}]"));
        }
        table
    }

    /// Complains about every key that nobody asked for.
    pub(super) fn finish(self) {
        let Some(table) = self.table else { return };
        for (key, item) in table.iter() {
            if self.asked.contains(&key) {
                continue;
            }
            let line = self.findings.line(table.key(key).and_then(Key::span));
            let what = match (self.path.as_str(), item.is_table_like()) {
                ("", true) => format!("unknown section [{key}]"),
                ("", false) => format!("unknown key '{key}' outside any section"),
                (path, _) => format!("unknown key '{key}' in [{path}]"),
            };
            let hint = match nearest(key, self.asked.iter().copied()) {
                Some(word) => format!("did you mean '{word}'?"),
                None => format!("known: {}", self.asked.join(", ")),
            };
            let warning = if key == "api_key" {
                " A key is never written here: put it into an environment variable and name that"
            } else {
                ""
            };
            let message = format!("{what}; {hint}{warning}");
            self.findings.fault(line, message);
        }
    }
}

fn shown(item: &Item) -> String {
    let text = item.to_string();
    let text = text.trim();
    if text.chars().count() <= 40 {
        text.to_owned()
    } else {
        text.chars().take(40).chain(['…']).collect()
    }
}
