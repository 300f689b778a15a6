//! Counting tokens. A real tokenizer where the number matters, a cheap estimate where it only guards a budget.

/// Exact for OpenAI's models, close for others.
pub fn count(text: &str) -> u64 {
    bpe_openai::o200k_base().count(text) as u64
}

/// About four bytes a token. Costs nothing, and loads no vocabulary.
pub fn estimate(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}
