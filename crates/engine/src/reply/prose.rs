//! Regular expressions that keep the texts of small models readable.
//!
//! A model with few parameters that writes JSON easily slips into code: `);`, `{2:10}`, the name of the next field. The grammar of
//! its reply therefore allows prose only, and lets the main text end only after a whole sentence. Other models get no patterns,
//! and no reply is rejected because of one. The expressions use only what JSON Schema and the grammars of llama.cpp share.

/// Sentences of a main text, and characters of a sentence.
const MAX_SENTENCES: u64 = 3;
const SENTENCE: (u64, u64) = (20, 240);
/// The longest main text.
pub(super) const MAX_MAIN: u64 = 730;
/// The longest of the other texts.
pub(super) const MAX_OTHER: u64 = 160;

/// A letter of any script; a letter or a digit.
const LETTER: &str = r"[^\x00-@\[-`{-\x7f]";
const LETTER_OR_DIGIT: &str = r"[^\x00-/:-@\[-`{-\x7f]";
/// What ends a sentence, in Latin, Chinese, Japanese, Hindi, Arabic and Urdu.
const ENDS: &str = ".!?。！？।؟۔";
/// What does not occur in prose, for a class of characters.
const CODE: &str = r#""\\{}<>|\[\]\x00-\x1f\x7f"#;

/// One to three sentences.
pub(super) fn sentences() -> String {
    let (least, most) = SENTENCE;
    // A point inside a number or an abbreviation ends no sentence.
    let inner = format!("([^{ENDS}{CODE}]|[.][0-9A-Za-z])");
    let more = MAX_SENTENCES - 1;
    format!(
        "^{LETTER}{inner}{{{least},{most}}}[{ENDS}]( ?{LETTER_OR_DIGIT}{inner}{{1,{most}}}[{ENDS}]){{0,{more}}}$"
    )
}

/// A short text of at most `max` characters, which may be empty if `min` is 0.
pub(super) fn phrase(min: u64, max: u64) -> String {
    let rest = max.saturating_sub(1);
    let text = format!("{LETTER_OR_DIGIT}[^{CODE}]{{0,{rest}}}");
    if min == 0 {
        format!("^({text})?$")
    } else {
        format!("^{text}$")
    }
}

#[cfg(test)]
#[path = "prose_tests.rs"]
mod tests;
