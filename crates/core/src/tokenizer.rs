//! The tokenizer `o200k_base` of OpenAI's models, without special tokens.
//!
//! A text is split into pieces (words, numbers, punctuation, whitespace). A piece that is in the vocabulary is one token; any
//! other is joined from its bytes, always the adjacent pair with the lowest rank first. The time is linear in the length of the
//! text, and `n log n` in the length of a piece.

mod hash;
mod merging;
mod vocabulary;

use std::sync::LazyLock;

use regex::Regex;

use merging::Merger;

/// Compiles the pattern of the pieces, so that the first use does not have to.
pub fn load() {
    LazyLock::force(&TOKENIZER);
}

/// The number of tokens of a text.
pub fn count(text: &str) -> usize {
    let mut count = 0;
    TOKENIZER.tokenize(text, |_| count += 1);
    count
}

/// The end of every token of a text, in bytes. A token may end within a character.
pub fn token_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    TOKENIZER.tokenize(text, |end| ends.push(end));
    ends
}

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(Tokenizer::load);

/// The published pattern, but for its last two alternatives, `\s+(?!\S)|\s+`: see [`Tokenizer::first_piece`].
const PIECE: &str = concat!(
    r"^(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"|\s*[\r\n]+",
    r"|\s+)"
);

struct Tokenizer {
    piece: Regex,
}

impl Tokenizer {
    #[expect(
        clippy::expect_used,
        reason = "the pattern is built in and every test compiles it"
    )]
    fn load() -> Self {
        Self {
            piece: Regex::new(PIECE).expect("a valid built-in pattern"),
        }
    }

    /// Calls `found` with the end of every token.
    fn tokenize(&self, text: &str, mut found: impl FnMut(usize)) {
        let mut merger = Merger::default();
        let mut start = 0;
        while start < text.len() {
            let piece = self.first_piece(&text[start..]).as_bytes();
            if vocabulary::rank(piece, 0..piece.len()).is_some() {
                found(start + piece.len());
            } else {
                merger.merge(piece, |end| found(start + end));
            }
            start += piece.len();
        }
    }

    /// The first piece of a text that is not empty. The last space before a word belongs to the word's piece. The pattern says so
    /// with a look-ahead, which the regex engine does not have.
    fn first_piece<'t>(&self, text: &'t str) -> &'t str {
        // Every character matches one of the alternatives.
        let piece = self.piece.find(text).map_or(text, |found| found.as_str());
        match piece.char_indices().next_back() {
            Some((last, space))
                if last > 0
                    && piece.len() < text.len()
                    && space.is_whitespace()
                    && !matches!(space, '\r' | '\n') =>
            {
                &piece[..last]
            }
            _ => piece,
        }
    }
}

#[cfg(test)]
#[path = "tokenizer_tests.rs"]
mod tests;
