//! Shortens texts for prompts with a token budget.

/// About `max_words` words, on one line. Words with a figure stay, and after them the first ones; gaps are marked.
pub(super) fn shortened(text: &str, max_words: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() <= max_words {
        return words.join(" ");
    }
    let has_figure = |word: &str| word.contains(|c: char| c.is_numeric());
    let figures = words.iter().filter(|word| has_figure(word)).count();
    let mut others = max_words.saturating_sub(figures);
    let mut shown: Vec<&str> = Vec::new();
    for word in words {
        let is_free = others > 0;
        if has_figure(word) || is_free {
            others -= usize::from(is_free && !has_figure(word));
            shown.push(word);
        } else if shown.last() != Some(&"…") {
            shown.push("…");
        }
    }
    shown.join(" ")
}

/// Estimates the number of tokens, rather too high than too low. Unlike a count it needs no vocabulary, which takes longer to
/// load than everything else between two calls.
pub(super) fn estimate_tokens(text: &str) -> u64 {
    let mut tokens = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = Kind::of(first);
        let end = rest
            .find(|c: char| Kind::of(c) != kind)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        tokens += kind.tokens(run.chars().count() as u64);
        rest = after;
    }
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Foreign,
    Number,
    Space,
    Mark,
}

impl Kind {
    fn of(c: char) -> Self {
        if c.is_ascii_alphabetic() {
            Self::Word
        } else if c.is_ascii_digit() {
            Self::Number
        } else if c.is_whitespace() {
            Self::Space
        } else if c.is_alphanumeric() {
            Self::Foreign
        } else {
            Self::Mark
        }
    }

    fn tokens(self, characters: u64) -> u64 {
        match self {
            Self::Word => characters.div_ceil(8),
            Self::Number => characters.div_ceil(3),
            Self::Space => characters.saturating_sub(1),
            Self::Foreign | Self::Mark => characters,
        }
    }
}

/// The lines with the largest word cap that fits into `max_tokens`. With the smallest cap they may be longer.
pub(super) fn fit_lines(max_tokens: u64, lines: impl Fn(usize) -> Vec<String>) -> Vec<String> {
    const CAPS: [usize; 12] = [30, 24, 20, 16, 14, 12, 10, 9, 8, 7, 6, 5];
    let mut tightest = Vec::new();
    for cap in CAPS {
        tightest = lines(cap);
        let sizes = tightest.iter().map(|line| estimate_tokens(line) + 1);
        if sizes.sum::<u64>() <= max_tokens {
            break;
        }
    }
    tightest
}

#[cfg(test)]
#[path = "text_budget_tests.rs"]
mod tests;
