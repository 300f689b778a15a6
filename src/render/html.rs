//! HTML that is safe to put into a page as it stands.

use std::fmt;

/// Markup made by this module's own templates: everything that others wrote is escaped in it already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    pub(super) fn trusted(markup: String) -> Self {
        Self(markup)
    }

    /// A template of ours. Writing to memory does not fail; if it did, there would be nothing to show.
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

// Templates put it in as it is.
impl askama::filters::HtmlSafe for Html {}

/// For text and for quoted attributes. Control characters are dropped: no document needs them.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}
