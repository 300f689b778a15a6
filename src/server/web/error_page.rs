//! The error page.

use askama::Template;

use super::Frame;

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
    pub(crate) fn new(status: u16, detail: impl Into<String>) -> Self {
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
            detail: detail.into(),
            request: None,
        }
    }

    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}
