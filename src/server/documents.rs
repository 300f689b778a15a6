//! Export of a debate, in the same formats as the command line (C-14).

use roundtable_engine::event::Entry;
use roundtable_engine::protocols;
use roundtable_engine::protocols::dialectic::{Trace, example};
use roundtable_engine::transcript::Transcript;
use serde::Deserialize;

use crate::clock;
use crate::export;
use crate::store::DebateRow;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    #[default]
    Json,
    Yaml,
    Md,
    Html,
    Jsonl,
}

impl Format {
    pub(crate) const NAMES: [&'static str; 5] = ["json", "yaml", "md", "html", "jsonl"];

    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "yaml" => Some(Self::Yaml),
            "md" => Some(Self::Md),
            "html" => Some(Self::Html),
            "jsonl" => Some(Self::Jsonl),
            _ => None,
        }
    }

    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Md => "md",
            Self::Html => "html",
            Self::Jsonl => "jsonl",
        }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Md => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
            Self::Jsonl => "application/x-ndjson",
        }
    }
}

/// `None` if the debate has no content yet, or the format does not apply to its protocol.
pub(crate) fn document(row: &DebateRow, entries: &[Entry], format: Format) -> Option<String> {
    let (id, stamp) = (row.id.to_string(), clock::stamp(row.created_at));
    let transcript = || Transcript::of(&id, entries);
    let trace = || Trace::of(&id, stamp.clone(), entries);
    match format {
        Format::Json => {
            let record = protocols::record(&id, stamp, entries)?;
            serde_json::to_string_pretty(&record).ok()
        }
        Format::Yaml => {
            let record = protocols::record(&id, stamp, entries)?;
            serde_saphyr::to_string(&record).ok()
        }
        Format::Md => transcript().map(|t| export::markdown(&t, &protocols::report(entries))),
        Format::Html => transcript().map(|t| export::html(&t, &protocols::report(entries))),
        Format::Jsonl => {
            let line = serde_json::to_string(&example(&trace()?)?).ok()?;
            Some(line + "\n")
        }
    }
}
