//! HTML pages of the server. Every page works without JavaScript; one small script follows running debates.
//!
//! A page is a pure function of its view, and a view is derived from the journal or a listing. Handlers load the data, build
//! the view and render it. Nothing here depends on a protocol: pages show transcripts and reports.

pub(crate) mod assets;
mod calibration;
mod debate;
mod debates;
mod error_page;
mod estimate;
mod fields;
mod handlers;
mod home;
mod learning;
mod models;
mod routes;
mod sign_in_page;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub(crate) use calibration::calibration_page;
pub(crate) use learning::learning_page;
pub(crate) use routes::{frame, problem_page, routes};
pub(crate) use sign_in_page::safe_next;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A link of the main navigation.
struct Tab {
    name: &'static str,
    path: &'static str,
    title: &'static str,
}

impl Tab {
    const fn new(name: &'static str, path: &'static str, title: &'static str) -> Self {
        Self { name, path, title }
    }
}

const TABS: [Tab; 5] = [
    Tab::new("ask", "/", "Ask"),
    Tab::new("debates", "/debates", "Debates"),
    Tab::new("models", "/models", "Models"),
    Tab::new("calibration", "/calibration", "Calibration"),
    Tab::new("learning", "/learning", "Learning"),
];

/// Header and footer of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// Name of the current tab; empty if the page belongs to none.
    pub tab: &'static str,
    pub visitor: Visitor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visitor {
    /// The server requires no sign-in.
    Local,
    SignedIn,
    /// Not signed in.
    Stranger,
}

impl Frame {
    pub(crate) fn new(tab: &'static str, visitor: Visitor) -> Self {
        Self { tab, visitor }
    }

    fn is_inside(self) -> bool {
        self.visitor != Visitor::Stranger
    }

    fn can_sign_out(self) -> bool {
        self.visitor == Visitor::SignedIn
    }
}

/// An option in a form.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub value: String,
    pub label: String,
    pub is_chosen: bool,
}

/// Percent-encodes a value for a query string.
pub(crate) fn percent(value: &str) -> String {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~');
    utf8_percent_encode(value, RESERVED).to_string()
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
