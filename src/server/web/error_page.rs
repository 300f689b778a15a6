//! The error page.

use askama::Template;

use roundtable_engine::transcript::capital;

use super::Frame;
use crate::server::NO_SUCH_PATH;

pub(crate) struct ErrorView {
    status: u16,
    title: &'static str,
    /// The error, its reason, and the next step.
    detail: String,
    /// The request's id, to find it in the log.
    pub request: Option<String>,
}

#[derive(Template)]
#[template(path = "error.html")]
struct Page {
    frame: Frame,
    view: ErrorView,
}

impl ErrorView {
    pub(crate) fn new(status: u16, detail: &str) -> Self {
        Self {
            status,
            title: match status {
                400 | 422 => "Invalid request",
                401 => "Sign-in required",
                403 => "Access denied",
                404 => "Not found",
                405 => "Method not allowed",
                409 => "Conflict",
                413 => "Request too large",
                429 => "Too many requests",
                503 => "Service unavailable",
                _ => "Something went wrong",
            },
            detail: sentence(detail),
            request: None,
        }
    }

    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}

/// The detail for visitors of a page: the API's reference is for programs.
fn sentence(detail: &str) -> String {
    if detail == NO_SUCH_PATH {
        return "This page does not exist. It may have been deleted.".to_owned();
    }
    capital(detail)
}
