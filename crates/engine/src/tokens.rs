//! Counting tokens. A real tokenizer where the number matters, a cheap estimate where it only guards a budget.

/// Exact for OpenAI's models, close for others.
pub fn count(text: &str) -> u64 {
    bpe_openai::o200k_base().count(text) as u64
}

/// About four bytes a token. Costs nothing, and loads no vocabulary.
pub fn estimate(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// As much of the beginning of a text as fits into so many tokens, with a mark where something is left out.
pub fn shorten(text: &str, limit: u64) -> String {
    // A token has at least one byte, so a short text needs no counting.
    if text.len() as u64 <= limit || count(text) <= limit {
        return text.to_owned();
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let cut = |characters: usize| {
        let head = &text[..ends.get(characters).copied().unwrap_or(text.len())];
        // Rather at the end of a word than within one.
        let head = head
            .rsplit_once(char::is_whitespace)
            .map_or(head, |(head, _)| head);
        format!("{} …", head.trim_end())
    };
    let fits = |characters: usize| count(&cut(characters)) <= limit;
    let (mut low, mut high) = (0, ends.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    cut(low)
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
