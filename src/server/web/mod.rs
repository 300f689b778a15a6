//! HTML pages of the server. Every page works without JavaScript; one small script follows running debates.
//!
//! A page is a pure function of its view, and a view is derived from the journal or a listing. Handlers load the data, build
//! the view and render it. Nothing here depends on a protocol: pages show transcripts and reports.

mod arenas;
pub(crate) mod assets;
mod audit;
mod benches;
mod calibration;
mod debate;
mod debates;
mod error_page;
mod fields;
mod form_key;
mod handlers;
mod home;
mod learning;
mod listing;
mod models;
mod multipart;
mod outcome;
mod routes;
mod shares;
mod sign_in_page;
mod start_form;
mod thread;
mod tokens;

use super::access::Caller;
use crate::store::{Reach, Scope};
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
    shown_to: Audience,
}

/// The visitors whose navigation has a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    Everybody,
    /// Those who see all debates.
    AllReach,
    Admins,
}

impl Tab {
    const fn new(name: &'static str, path: &'static str, title: &'static str) -> Self {
        Self {
            name,
            path,
            title,
            shown_to: Audience::Everybody,
        }
    }

    const fn shown_to(self, shown_to: Audience) -> Self {
        Self { shown_to, ..self }
    }
}

const TABS: [Tab; 7] = [
    Tab::new("ask", "/", "Ask"),
    Tab::new("debates", "/debates", "Debates"),
    Tab::new("models", "/models", "Models"),
    Tab::new("calibration", "/calibration", "Calibration"),
    Tab::new("learning", "/learning", "Learning").shown_to(Audience::AllReach),
    Tab::new("tokens", "/tokens", "Tokens").shown_to(Audience::Admins),
    Tab::new("audit", "/audit", "Audit").shown_to(Audience::Admins),
];

/// Header and footer of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// Name of the current tab; empty if the page belongs to none.
    pub tab: &'static str,
    pub visitor: Visitor,
    is_admin: bool,
    reaches_all: bool,
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
        Self {
            tab,
            visitor,
            is_admin: false,
            reaches_all: true,
        }
    }

    /// Shows the links that this caller may follow.
    pub(crate) fn for_caller(self, caller: &Caller) -> Self {
        let reaches_all = caller.reach == Reach::All;
        Self {
            is_admin: caller.may(Scope::Admin) && reaches_all,
            reaches_all,
            ..self
        }
    }

    fn tabs(self) -> Vec<&'static Tab> {
        let is_shown = |tab: &&Tab| match tab.shown_to {
            Audience::Everybody => true,
            Audience::AllReach => self.reaches_all,
            Audience::Admins => self.is_admin,
        };
        TABS.iter().filter(is_shown).collect()
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
