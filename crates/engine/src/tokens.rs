//! Token counting: a real tokenizer for prompt limits, a cheap estimate for budget checks.

use roundtable_core::tokenizer;

/// Exact for OpenAI's models, close for others.
pub fn count(text: &str) -> u64 {
    tokenizer::count(text) as u64
}

/// Prepares the tokenizer (some milliseconds), so that the first count does not have to.
pub fn load() {
    tokenizer::load();
}

/// Runs [`load`] on a background thread, once.
pub fn load_in_background() {
    static STARTED: std::sync::Once = std::sync::Once::new();
    STARTED.call_once(|| drop(std::thread::spawn(load)));
}

/// Whether a text has at most `limit` tokens. A token has at least one byte, so a short text is not tokenized.
pub fn fits(text: &str, limit: u64) -> bool {
    text.len() as u64 <= limit || count(text) <= limit
}

/// About four bytes per token; does not prepare the tokenizer.
pub fn estimate(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// Truncates a text to `limit` tokens, preferably at the end of a word, and marks the cut with `…`.
pub fn shorten(text: &str, limit: u64) -> String {
    if fits(text, limit) {
        return text.to_owned();
    }
    let ends = tokenizer::token_ends(text);
    let mut kept = usize::try_from(limit).unwrap_or(usize::MAX).min(ends.len());
    loop {
        // The mark takes one or two tokens, and a token may end within a character.
        kept = kept.saturating_sub(1);
        let end = ends[..kept].last().copied().unwrap_or(0);
        let Some(head) = text.get(..end) else {
            continue;
        };
        let whole = head
            .rsplit_once(char::is_whitespace)
            .map_or("", |(whole, _)| whole);
        let cut = if whole.is_empty() { head } else { whole };
        let short = format!("{} …", cut.trim_end());
        if kept == 0 || fits(&short, limit) {
            return short;
        }
    }
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
