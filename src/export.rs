//! Exports of a debate, the same for the command line, the API and the page (C-14).
//!
//! Documents are rendered from the transcript and the report, so they depend on no protocol.

mod markdown;

use askama::Template;
use clap::ValueEnum;
use roundtable_core::characters::escape_json;
use roundtable_engine::event::{Entry, State};
use roundtable_engine::protocols;
use roundtable_engine::protocols::dialectic::{Trace, example};
use roundtable_engine::report::{Fact, Report};
use roundtable_engine::table::open_question;
use roundtable_engine::transcript::Transcript;
use serde_json::{Value, json};

use crate::clock;
use crate::render::{self, Panel};
use crate::store::DebateRow;

pub(crate) use markdown::{markdown, report_markdown, verdict_markdown};

/// A file format of an export. Its name is also the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The protocol's record.
    Json,
    /// The same as YAML.
    Yaml,
    /// Markdown with the answer, the report and the transcript.
    Md,
    /// The same as one HTML file without scripts.
    Html,
    /// Training data: one chat per line.
    Jsonl,
}

impl Format {
    pub(crate) const ALL: [Self; 5] = [Self::Json, Self::Yaml, Self::Md, Self::Html, Self::Jsonl];
    /// The formats that every debate has, in the order in which the page lists them.
    pub(crate) const DOCUMENTS: [Self; 4] = [Self::Html, Self::Md, Self::Json, Self::Yaml];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    pub(crate) fn names() -> Vec<&'static str> {
        Self::ALL.map(Self::name).into()
    }

    /// Name, title and content type.
    const fn description(self) -> [&'static str; 3] {
        match self {
            Self::Json => ["json", "JSON", "application/json"],
            Self::Yaml => ["yaml", "YAML", "application/yaml"],
            Self::Md => ["md", "Markdown", "text/markdown; charset=utf-8"],
            Self::Html => ["html", "HTML file", "text/html; charset=utf-8"],
            Self::Jsonl => ["jsonl", "Training data", "application/x-ndjson"],
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        self.description()[0]
    }

    pub(crate) const fn title(self) -> &'static str {
        self.description()[1]
    }

    pub(crate) const fn content_type(self) -> &'static str {
        self.description()[2]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExportError {
    #[error("the debate has not started, so there is nothing to export yet")]
    NotStarted,
    #[error("this version does not know the protocol '{0}'; export the debate as md or html")]
    UnknownProtocol(String),
    #[error("the debate has no training data: jsonl needs a dialectic with an answer")]
    NoTrainingData,
    #[error("cannot write the debate: {0}")]
    Serialize(String),
}

/// Renders a debate at any point of its journal.
pub(crate) fn render(
    format: Format,
    row: &DebateRow,
    entries: &[Entry],
) -> Result<String, ExportError> {
    let transcript = Transcript::of(&row.id.to_string(), entries)
        .ok_or(ExportError::NotStarted)?
        .shown_as(row.state);
    let written = match format {
        Format::Json => serde_json::to_string_pretty(&record(row, entries)?)
            .map(|text| escape_json(text) + "\n"),
        Format::Yaml => {
            return serde_saphyr::to_string(&record(row, entries)?)
                .map_err(|error| ExportError::Serialize(error.to_string()));
        }
        Format::Md => Ok(markdown(&transcript, &report(row, entries))),
        Format::Html => Ok(html(&transcript, &report(row, entries))),
        Format::Jsonl => {
            let example = trace(row, entries).and_then(|trace| example(&trace));
            let example = example.ok_or(ExportError::NoTrainingData)?;
            serde_json::to_string(&example).map(|line| escape_json(line) + "\n")
        }
    };
    written.map_err(|error| ExportError::Serialize(error.to_string()))
}

fn report(row: &DebateRow, entries: &[Entry]) -> Report {
    protocols::report(entries).shown_as(row.state)
}

fn record(row: &DebateRow, entries: &[Entry]) -> Result<Value, ExportError> {
    protocols::record(&row.id.to_string(), clock::stamp(row.created_at), entries)
        .map(|record| shown_record(record, row.state, entries))
        .ok_or_else(|| ExportError::UnknownProtocol(row.protocol.clone()))
}

/// The record with what its journal alone does not say: that its process died, and the question that the debate waits for.
pub(crate) fn shown_record(mut record: Value, state: State, entries: &[Entry]) -> Value {
    // Forecasts have the state in their extension of the contract.
    let fields = match record.get_mut("roundtable") {
        Some(extension) if extension.get("state").is_some() => extension,
        _ => &mut record,
    };
    let Some(fields) = fields.as_object_mut() else {
        return record;
    };
    if state == State::Interrupted {
        fields.insert("state".into(), json!(state));
    }
    if let Some(query) = open_question(entries) {
        fields.insert("waiting_for".into(), json!(query));
    }
    record
}

/// The debate as the source of training data. `None` if it has not started.
pub(crate) fn trace(row: &DebateRow, entries: &[Entry]) -> Option<Trace> {
    Trace::of(&row.id.to_string(), clock::stamp(row.created_at), entries)
}

#[derive(Template)]
#[template(path = "export.html")]
struct File {
    debate: render::Debate,
    style: render::Html,
}

/// One self-contained HTML file: no script, nothing loaded from elsewhere, everything a model wrote sanitised (C-12).
pub(crate) fn html(transcript: &Transcript, report: &Report) -> String {
    let file = File {
        debate: render::Debate::new(transcript, report),
        style: render::style(),
    };
    // Rendering to a string does not fail.
    file.render().unwrap_or_default()
}

#[derive(Template)]
#[template(path = "report.html")]
struct ReportFile<'a> {
    title: &'a str,
    facts: &'a [Fact],
    panels: Vec<Panel>,
    style: render::Html,
}

/// A report on several debates, as such a file.
pub(crate) fn report_html(title: &str, report: &Report) -> String {
    let file = ReportFile {
        title,
        facts: &report.facts,
        panels: render::all_panels(report),
        style: render::style(),
    };
    file.render().unwrap_or_default()
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
