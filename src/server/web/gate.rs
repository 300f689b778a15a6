//! Where one comes in, and where one ends up when something is wrong.

use askama::Template;

use super::Frame;

pub(crate) struct SignInView {
    /// Where to go afterwards: a path of this server.
    pub next: String,
    pub problems: Vec<String>,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    frame: Frame,
    view: SignInView,
}

impl SignInView {
    pub(crate) fn page(self, frame: Frame) -> String {
        let page = SignIn { frame, view: self };
        page.render().unwrap_or_default()
    }
}

/// Only a path of this server: whoever sends somebody here must not be able to send them on elsewhere.
pub(crate) fn safe_next(next: &str) -> String {
    let is_path = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains('\\')
        && !next.chars().any(char::is_control);
    if is_path { next.to_owned() } else { "/".into() }
}

pub(crate) struct ErrorView {
    pub status: u16,
    pub title: String,
    /// What happened, why, what to do.
    pub what: String,
    pub way_out: String,
    pub way_out_label: String,
    pub request: Option<String>,
}

#[derive(Template)]
#[template(path = "error.html")]
struct Error {
    frame: Frame,
    view: ErrorView,
}

impl ErrorView {
    pub(crate) fn new(status: u16, what: impl Into<String>) -> Self {
        let title = match status {
            400 | 422 => "That did not work",
            401 => "Please sign in",
            403 => "Not allowed",
            404 => "There is nothing here",
            405 => "Not like this",
            409 => "Not now",
            413 => "That is too much",
            429 => "A little slower, please",
            503 => "Not at the moment",
            _ => "Something went wrong",
        };
        Self {
            status,
            title: title.to_owned(),
            what: what.into(),
            way_out: "/debates".into(),
            way_out_label: "To the debates".into(),
            request: None,
        }
    }

    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Error { frame, view: self };
        page.render().unwrap_or_default()
    }
}
