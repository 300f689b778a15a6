//! A debate as a document: Markdown, or one HTML file that needs nothing else (C-14). Both are written from its account and
//! its report, and so know no protocol.

mod markdown;

use askama::Template;
use roundtable_engine::account::Account;
use roundtable_engine::report::Report;

use crate::figures;
use crate::render::{self, Panel};

pub(crate) use markdown::markdown;

#[derive(Template)]
#[template(path = "export.html")]
struct File {
    debate: render::Debate,
    figures: Panel,
    style: render::Html,
}

/// One self-contained HTML file: no script, nothing loaded from elsewhere, everything a model wrote sanitised (C-12).
pub(crate) fn html(account: &Account, report: &Report) -> String {
    let file = File {
        debate: render::Debate::new(account, report),
        figures: render::panel(&figures::usage(account), &render::Roles::of(account)),
        style: render::style(),
    };
    // Writing to memory does not fail; if it did, there would be nothing to show.
    file.render().unwrap_or_default()
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
