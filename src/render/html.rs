//! HTML that is safe to insert into a page without escaping.

use roundtable_core::characters::is_deceptive;
use std::fmt;

/// Markup rendered by this module's templates; foreign text in it is already escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    pub(super) fn trusted(markup: String) -> Self {
        Self(markup)
    }

    /// Renders a template. Writing to memory cannot fail.
    pub(super) fn of(template: &impl askama::Template) -> Self {
        Self(template.render().unwrap_or_default())
    }

    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// Tells askama not to escape it.
impl askama::filters::HtmlSafe for Html {}

/// Escapes text and quoted attribute values; drops control characters and direction controls.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_deceptive(c) => {}
            c => out.push(c),
        }
    }
    out
}
