//! Ids of claims, evidence, decisions and blockers, as models write them.

use crate::format::truncated;
use crate::wording::one_line;

/// Models write `c1`, `[C1]` or `#C1` for `C1`.
pub fn normal_id(id: &str) -> String {
    id.trim()
        .trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_ascii_uppercase()
}

/// An id in normal form. Any other text in its place, such as a sentence, keeps its letters and is shortened.
pub fn shown_id(text: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    let id = normal_id(text);
    if id.chars().all(|c| c.is_ascii_alphanumeric()) {
        id
    } else {
        truncated(&one_line(text), MAX_CHARACTERS)
    }
}

/// The ids of claims, evidence, decisions and blockers that a text names.
pub fn ids_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| {
        let digits = word.strip_prefix(['C', 'E', 'D', 'B']);
        digits.is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

pub(super) fn is_evidence_id(title: &str) -> bool {
    let id = normal_id(title);
    let digits = id.strip_prefix('E').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
