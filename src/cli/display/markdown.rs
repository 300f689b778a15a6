//! Markdown of turns on a terminal, rendered word by word as it arrives: headings, lists, emphasis and code. The marks are not
//! shown. Words are never split, and a list item continues below its text.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::super::output::painted;

const CODE: Style = AnsiColor::Cyan.on_default();

/// Renders, wraps and indents text that arrives in chunks.
pub(super) struct MarkdownStream {
    width: usize,
    indent: usize,
    column: usize,
    word: String,
    /// Spaces before the current word; dropped where a line is wrapped.
    gap: usize,
    /// The current line of the source.
    line: Line,
    emphasis: Emphasis,
    is_fenced: bool,
}

#[derive(Default)]
struct Line {
    /// Whether it has no word yet.
    has_begun: bool,
    is_heading: bool,
    /// Additional indentation of continued lines, below the text of a list item.
    hanging: usize,
    /// A fence: nothing of it is shown.
    is_hidden: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Emphasis {
    bold: bool,
    italic: bool,
    code: bool,
}

impl Emphasis {
    fn style(self, is_heading: bool) -> Style {
        let style = if self.code { CODE } else { Style::new() };
        let style = if self.italic { style.italic() } else { style };
        if self.bold || is_heading {
            style.bold()
        } else {
            style
        }
    }
}

/// A whole text, rendered.
pub(super) fn render(text: &str, width: usize, indent: usize) -> String {
    let mut stream = MarkdownStream::new(width, indent);
    let mut out = stream.push(text.trim_end());
    out.push_str(&stream.end());
    out.trim_end_matches('\n').to_owned()
}

impl MarkdownStream {
    pub(super) fn new(width: usize, indent: usize) -> Self {
        Self {
            width,
            indent,
            column: 0,
            word: String::new(),
            gap: 0,
            line: Line::default(),
            emphasis: Emphasis::default(),
            is_fenced: false,
        }
    }

    /// Returns the text to print now; the last word waits until it is complete.
    pub(super) fn push(&mut self, chunk: &str) -> String {
        let mut out = String::new();
        for c in chunk.chars() {
            match c {
                '\n' => self.end_line(&mut out),
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
        self.end_line(&mut out);
        out
    }

    fn end_line(&mut self, out: &mut String) {
        self.end_word(out);
        if !self.line.has_begun {
            // Emphasis does not go beyond a paragraph.
            self.emphasis = Emphasis::default();
        }
        if !self.line.is_hidden {
            out.push('\n');
        }
        (self.column, self.gap) = (0, 0);
        self.line = Line::default();
    }

    fn end_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let is_first = !std::mem::replace(&mut self.line.has_begun, true);
        if is_first && word.starts_with("```") {
            self.is_fenced = !self.is_fenced;
            self.line.is_hidden = true;
        }
        if self.line.is_hidden {
            self.gap = 0;
        } else if self.is_fenced {
            let gap = std::mem::take(&mut self.gap);
            let indent = if is_first { self.indent } else { 0 };
            out.push_str(&" ".repeat(indent + gap));
            out.push_str(&painted(CODE, &word));
        } else if is_first {
            self.first_word(&word, out);
        } else {
            self.inline(&word, out);
        }
    }

    /// A mark of a heading or a list, or the first word of a paragraph.
    fn first_word(&mut self, word: &str, out: &mut String) {
        // Nested lists keep their indentation.
        self.line.hanging = std::mem::take(&mut self.gap);
        let is_number = |mark: &str| {
            let digits = mark.trim_end_matches(['.', ')']);
            digits.len() + 1 == mark.len() && digits.chars().all(|c| c.is_ascii_digit())
        };
        if word.len() <= 6 && word.chars().all(|c| c == '#') {
            self.line.is_heading = true;
            self.line.has_begun = true;
            return;
        }
        let mark = match word {
            "-" | "*" | "+" => "•",
            ">" => "│",
            mark if is_number(mark) => mark,
            _ => return self.inline(word, out),
        };
        self.place(mark, mark.width(), out);
        self.line.hanging += mark.width() + 1;
    }

    /// A word with its emphasis.
    fn inline(&mut self, word: &str, out: &mut String) {
        let mut shown = String::new();
        let mut width = 0;
        for (style, part) in self.parts(word) {
            width += part.width();
            if style == Style::new() {
                shown.push_str(&part);
            } else {
                shown.push_str(&painted(style, &part));
            }
        }
        if width > 0 {
            self.place(&shown, width, out);
        }
    }

    /// The parts of a word between marks of emphasis, each in its style.
    fn parts(&mut self, word: &str) -> Vec<(Style, String)> {
        let is_mark_alone = word.chars().all(|c| c == '*');
        let mut parts: Vec<(Style, String)> = Vec::new();
        let mut letters = word.chars().peekable();
        let mut before = None;
        while let Some(letter) = letters.next() {
            let next = letters.peek().copied();
            let is_double = letter == '*' && next == Some('*');
            let opens = next.is_some_and(|next| !next.is_whitespace())
                && !before.is_some_and(char::is_alphanumeric);
            let mut literal = Some(letter);
            if letter == '`' {
                self.emphasis.code = !self.emphasis.code;
                literal = None;
            } else if self.emphasis.code || is_mark_alone {
            } else if is_double {
                letters.next();
                self.emphasis.bold = !self.emphasis.bold;
                literal = None;
            } else if letter == '*' && (self.emphasis.italic || opens) {
                self.emphasis.italic = !self.emphasis.italic;
                literal = None;
            } else if letter == '\\' && next.is_some_and(|next| next.is_ascii_punctuation()) {
                literal = letters.next();
            }
            before = Some(letter);
            let Some(literal) = literal else { continue };
            let style = self.emphasis.style(self.line.is_heading);
            match parts.last_mut() {
                Some((last, text)) if *last == style => text.push(literal),
                Some(_) | None => parts.push((style, literal.to_string())),
            }
        }
        parts
    }

    /// Puts something on the line, or on the next one if it does not fit.
    fn place(&mut self, shown: &str, width: usize, out: &mut String) {
        if self.column > 0 && self.column + self.gap + width > self.width {
            out.push('\n');
            (self.column, self.gap) = (0, 0);
        }
        if self.column == 0 {
            self.column = self.indent + self.line.hanging;
            out.push_str(&" ".repeat(self.column));
            self.gap = 0;
        }
        out.push_str(&" ".repeat(self.gap));
        out.push_str(shown);
        self.column += self.gap + width;
        self.gap = 0;
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
