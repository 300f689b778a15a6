//! Numbers and texts in the form people read them.

use std::fmt::Display;

/// 1234567 → 1,234,567
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// 0.46 → 46%
pub fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// `1 round`, `3 rounds`
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, thing: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// At most `max` characters; a text that is cut ends with an ellipsis.
pub fn truncated(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let head: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
