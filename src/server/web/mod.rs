//! The pages: plain HTML that is whole without a script, one style, one small script that follows a running debate.
//!
//! Every page is a pure function of its view; a view is a fold over the journal or a listing. Nothing here knows a
//! protocol: it shows accounts and reports.

pub(crate) mod assets;
mod calibration;
mod debate;
mod debates;
mod gate;
mod home;
mod learning;
mod models;
mod routes;

pub(crate) use calibration::calibration_page;
pub(crate) use debates::percent;
pub(crate) use gate::safe_next;
pub(crate) use learning::learning_page;
pub(crate) use routes::{problem_page, routes};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What stands around every page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub tab: &'static str,
    pub visitor: Visitor,
}

/// Who looks at the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visitor {
    /// Nobody needs to sign in here.
    Local,
    SignedIn,
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

/// A choice in a form.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub value: String,
    pub label: String,
    pub is_chosen: bool,
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
