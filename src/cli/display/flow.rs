//! Text that comes in pieces, indented and wrapped at words as it comes.

/// A whole text, each of its lines indented and wrapped at words.
pub(in crate::cli) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut flow = Flow::new(width, indent);
    let mut out = flow.take(text);
    out.push_str(&flow.end());
    out.trim_end_matches('\n').to_owned()
}

pub(super) struct Flow {
    width: usize,
    indent: usize,
    column: usize,
    word: String,
    /// Spaces before the word that is being read; they are dropped at a line's end.
    gap: usize,
}

impl Flow {
    pub(super) fn new(width: usize, indent: usize) -> Self {
        Self {
            width,
            indent,
            column: 0,
            word: String::new(),
            gap: 0,
        }
    }

    /// What can be written now; the last word waits until it is complete.
    pub(super) fn take(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in piece.chars() {
            match c {
                '\n' => {
                    self.put_word(&mut out);
                    out.push('\n');
                    (self.column, self.gap) = (0, 0);
                }
                ' ' | '\t' => {
                    self.put_word(&mut out);
                    self.gap += 1;
                }
                c => self.word.push(c),
            }
        }
        out
    }

    pub(super) fn end(&mut self) -> String {
        let mut out = String::new();
        self.put_word(&mut out);
        out.push('\n');
        self.column = 0;
        out
    }

    fn put_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let length = self.word.chars().count();
        if self.column > 0 && self.column + self.gap + length > self.width {
            out.push('\n');
            (self.column, self.gap) = (0, 0);
        }
        if self.column == 0 {
            out.push_str(&" ".repeat(self.indent));
            self.column = self.indent;
        }
        out.push_str(&" ".repeat(self.gap));
        out.push_str(&self.word);
        self.column += self.gap + length;
        self.gap = 0;
        self.word.clear();
    }
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
