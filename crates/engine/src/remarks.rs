//! Remarks on replies that break a rule, for people.
//!
//! A remark is sent back to the model: first what is wrong, then, in further sentences, what to do. People read only the first
//! sentence, because the rest is addressed to the model.

/// The first sentence of a remark. Full stops in quoted text do not end it.
pub fn for_people(remark: &str) -> &str {
    let mut is_quoted = false;
    let mut previous = ' ';
    for (at, c) in remark.char_indices() {
        if c == '"' {
            is_quoted = !is_quoted;
        }
        let ends = c == ' ' && previous == '.' && !is_quoted;
        if ends && remark[at..].trim_start().starts_with(char::is_uppercase) {
            return &remark[..at];
        }
        previous = c;
    }
    remark
}

#[cfg(test)]
#[path = "remarks_tests.rs"]
mod tests;
