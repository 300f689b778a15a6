//! HTML rendering of debates and reports, shared by the exported file and the server's pages.
//!
//! Invariants: the output contains no script and loads nothing from other origins; text written by models and users is
//! escaped or sanitised (C-12); every chart comes with its data as a table.

mod argument;
mod blocks;
mod card;
mod chart;
mod debate;
mod html;
pub(crate) mod markdown;
mod roles;
#[cfg(test)]
pub(crate) mod test_support;

pub(crate) use blocks::{Panel, all_panels};
pub(crate) use debate::{Debate, names_a_state, open_turn, state_tone, state_word, title_of_round};
pub(crate) use html::{Html, escape};
pub(crate) use roles::Roles;

/// The base style sheet: colours, type and the parts of a debate. The server's pages add their own.
pub(crate) const STYLE: &str = concat!(
    include_str!("render/css/foundation.css"),
    include_str!("render/css/page.css"),
    include_str!("render/css/prose.css"),
    include_str!("render/css/answer.css"),
    include_str!("render/css/argument.css"),
    include_str!("render/css/turns.css"),
    include_str!("render/css/tables.css"),
    include_str!("render/css/charts.css"),
    include_str!("render/css/screens.css"),
);

/// The base style sheet for inlining into a document.
pub(crate) fn style() -> Html {
    Html::trusted(minify_css(STYLE))
}

/// Removes comments, blank lines and indentation.
pub(crate) fn minify_css(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
