//! The sign-in page.

use askama::Template;

use super::Frame;

pub(crate) struct SignInView {
    /// Path of this server to redirect to after signing in.
    pub next: String,
    pub problems: Vec<String>,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct Page {
    frame: Frame,
    view: SignInView,
}

impl SignInView {
    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}

/// Accepts only paths of this server, to prevent open redirects.
pub(crate) fn safe_next(next: &str) -> String {
    let is_path = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains('\\')
        && !next.chars().any(char::is_control);
    if is_path { next.to_owned() } else { "/".into() }
}
