//! Counting tokens. A real tokenizer where the number matters, a cheap estimate where it only guards a budget.

/// Exact for OpenAI's models, close for others.
pub fn count(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    bpe_openai::o200k_base().count(text) as u64
}

/// Loads the vocabulary, which takes a tenth of a second: better while somebody waits for a model than when it is needed.
pub fn load() {
    bpe_openai::o200k_base();
}

/// The same beside whatever else is done. Later calls do nothing.
pub fn load_meanwhile() {
    static BEGUN: std::sync::Once = std::sync::Once::new();
    BEGUN.call_once(|| drop(std::thread::spawn(load)));
}

/// Whether a text has at most so many tokens. A token has at least one byte, so a short text needs no counting.
pub fn fits(text: &str, limit: u64) -> bool {
    text.len() as u64 <= limit || count(text) <= limit
}

/// About four bytes a token. Costs nothing, and loads no vocabulary.
pub fn estimate(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// As much of the beginning of a text as fits into so many tokens, with a mark where something is left out.
pub fn shorten(text: &str, limit: u64) -> String {
    if fits(text, limit) {
        return text.to_owned();
    }
    let tokenizer = bpe_openai::o200k_base();
    let tokens = tokenizer.encode(text);
    let mut kept = usize::try_from(limit)
        .unwrap_or(usize::MAX)
        .min(tokens.len());
    loop {
        // The mark takes a token or two; and a token may be part of a character, which then goes with it.
        kept = kept.saturating_sub(1);
        let Some(head) = tokenizer.decode(&tokens[..kept]) else {
            continue;
        };
        // Rather at the end of a word than within one.
        let whole = head
            .rsplit_once(char::is_whitespace)
            .map_or("", |(whole, _)| whole);
        let cut = if whole.is_empty() {
            head.as_str()
        } else {
            whole
        };
        let short = format!("{} …", cut.trim_end());
        if kept == 0 || fits(&short, limit) {
            return short;
        }
    }
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
