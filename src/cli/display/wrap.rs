//! Word wrapping, of whole texts and of text that arrives in chunks.

use textwrap::{Options, WordSeparator, WordSplitter};
use unicode_width::UnicodeWidthStr;

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

/// Wraps and indents text that arrives in chunks.
pub(super) struct StreamWrapper {
    width: usize,
    indent: usize,
    column: usize,
    word: String,
    /// Spaces before the current word; dropped at the end of a line.
    gap: usize,
}

impl StreamWrapper {
    pub(super) fn new(width: usize, indent: usize) -> Self {
        Self {
            width,
            indent,
            column: 0,
            word: String::new(),
            gap: 0,
        }
    }

    /// Returns the text to print now; the last word waits until it is complete.
    pub(super) fn push(&mut self, chunk: &str) -> String {
        let mut out = String::new();
        for c in chunk.chars() {
            match c {
                '\n' => {
                    self.end_word(&mut out);
                    out.push('\n');
                    (self.column, self.gap) = (0, 0);
                }
                ' ' | '\t' => {
                    self.end_word(&mut out);
                    self.gap += 1;
                }
                c => self.word.push(c),
            }
        }
        out
    }

    pub(super) fn end(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        out.push('\n');
        self.column = 0;
        out
    }

    fn end_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let width = self.word.width();
        if self.column > 0 && self.column + self.gap + width > self.width {
            out.push('\n');
            (self.column, self.gap) = (0, 0);
        }
        if self.column == 0 {
            out.push_str(&" ".repeat(self.indent));
            self.column = self.indent;
        }
        out.push_str(&" ".repeat(self.gap));
        out.push_str(&self.word);
        self.column += self.gap + width;
        self.gap = 0;
        self.word.clear();
    }
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
