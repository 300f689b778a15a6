//! Word wrapping.

use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter};

/// Words longer than the width keep a line to themselves.
fn options(width: usize) -> Options<'static> {
    Options::new(width)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false)
}

fn owned(lines: Vec<std::borrow::Cow<'_, str>>) -> Vec<String> {
    lines.into_iter().map(Into::into).collect()
}

/// A text with every line wrapped and indented.
pub(in crate::cli) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = options(width)
        .initial_indent(&indent)
        .subsequent_indent(&indent);
    textwrap::fill(text.trim_end(), options)
}

/// Wraps the lines that are too long, each with its own indentation. Lines that fit stay as they are.
pub(in crate::cli) fn fit(text: &str, width: usize) -> String {
    let lines = text.split('\n').flat_map(|line| {
        if display_width(line) <= width {
            return vec![line.to_owned()];
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        owned(textwrap::wrap(
            line,
            options(width).subsequent_indent(indent),
        ))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// One line, wrapped if there is a width.
pub(super) fn wrap_line(line: &str, width: Option<usize>) -> Vec<String> {
    match width {
        Some(width) => owned(textwrap::wrap(line, options(width))),
        None => vec![line.to_owned()],
    }
}

/// Like [`wrap_line`], but breaks words that are longer than the width.
pub(super) fn break_line(line: &str, width: usize) -> Vec<String> {
    owned(textwrap::wrap(line, options(width).break_words(true)))
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
