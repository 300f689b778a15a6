//! Characters that deceive: invisible ones, controls, and those that change the direction of text.

use std::fmt::Write;

/// Whether renderers draw nothing for this character (Unicode's `Default_Ignorable_Code_Point`).
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether this character changes the direction of the text around it, so that text reads differently than it is.
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character of untrusted text must not reach a terminal or a document: it moves the cursor, starts an escape sequence
/// or reorders text. Line breaks and tabs are allowed.
pub fn is_deceptive(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_bidi_control(c)
}

/// JSON with C1 controls, DEL and direction controls escaped: a terminal must not obey what a string contains.
pub fn escape_json(json: String) -> String {
    let needs_escape = |c: char| matches!(c, '\u{7f}'..='\u{9f}') || is_bidi_control(c);
    if !json.contains(needs_escape) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if needs_escape(c) {
            // Writing to a `String` cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// A name on one line that cannot be mistaken for markup: for file names in prompts and tables.
pub fn plain_name(name: &str) -> String {
    let visible: String = name
        .chars()
        .map(|c| match c {
            '<' | '>' | '"' | '`' | '\u{ff1c}' | '\u{ff1e}' | '\u{fe64}' | '\u{fe65}' => '\'',
            c if c.is_control() || c.is_whitespace() => ' ',
            c => c,
        })
        .filter(|c| !is_invisible(*c))
        .collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "characters_tests.rs"]
mod tests;
