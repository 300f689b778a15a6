//! A debate as a document: Markdown, or one HTML file that needs nothing else (C-14). Both are written from its transcript and
//! its report, and so know no protocol.

mod markdown;

use askama::Template;
use roundtable_engine::report::{Fact, Report};
use roundtable_engine::transcript::Transcript;

use crate::format;
use crate::render::{self, Panel};

pub(crate) use markdown::{markdown, report_markdown};

#[derive(Template)]
#[template(path = "export.html")]
struct File {
    debate: render::Debate,
    figures: Panel,
    style: render::Html,
}

/// One self-contained HTML file: no script, nothing loaded from elsewhere, everything a model wrote sanitised (C-12).
pub(crate) fn html(transcript: &Transcript, report: &Report) -> String {
    let file = File {
        debate: render::Debate::new(transcript, report),
        figures: render::panel(&format::usage(transcript), &render::Roles::of(transcript)),
        style: render::style(),
    };
    // Writing to memory does not fail; if it did, there would be nothing to show.
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

/// A report of no one debate as such a file.
pub(crate) fn report_html(title: &str, report: &Report) -> String {
    let roles = render::Roles::default();
    let sections = report.sections.iter();
    let file = ReportFile {
        title,
        facts: &report.facts,
        panels: sections
            .map(|section| render::panel(section, &roles))
            .collect(),
        style: render::style(),
    };
    file.render().unwrap_or_default()
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
