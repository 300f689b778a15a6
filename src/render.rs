//! Reports and accounts as HTML, the same for the file one sends around and for the pages of the server.
//!
//! Promises: nothing here holds a script or asks for anything from elsewhere; what a model or a person wrote is escaped or
//! sanitised, whatever it is (C-12); every picture has its figures in words beside it.

mod blocks;
mod chart;
mod debate;
mod html;
pub(crate) mod markdown;
mod roles;
#[cfg(test)]
pub(crate) mod samples;

pub(crate) use blocks::{Panel, panel};
pub(crate) use debate::{Debate, state_tone, state_word, title_of_round, turn};
pub(crate) use html::Html;
pub(crate) use roles::Roles;

/// The look: colours, type and the parts of a debate. Pages add what only they have.
pub(crate) const STYLE: &str = include_str!("render/base.css");

/// The same, to stand in a document.
pub(crate) fn style() -> Html {
    Html::trusted(STYLE.to_owned())
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
