//! Regular expressions that keep the texts of small models readable.
//!
//! A model with few parameters that writes JSON easily slips into code: `);`, `{2:10}`, the name of the next field. The grammar of
//! its reply therefore allows prose only, and lets the main text end only after a whole sentence. Other models get no patterns,
//! and no reply is rejected because of one. The expressions use only what JSON Schema and the grammars of llama.cpp share.

/// Sentences of a main text, and characters of its sentences without the first and the last one.
const MAX_SENTENCES: u64 = 3;
const SENTENCE: (u64, u64) = (20, 240);
/// The longest main text.
pub(super) const MAX_MAIN: u64 = 730;
/// The longest of the other texts.
pub(super) const MAX_OTHER: u64 = 160;
/// Texts that may be longer than this are sentences, others words.
const MAX_WORDS: u64 = 80;

/// A letter of any script; a letter or a digit.
const LETTER: &str = r"[^\x00-@\[-`{-\x7f]";
const LETTER_OR_DIGIT: &str = r"[^\x00-/:-@\[-`{-\x7f]";
/// Characters that end a sentence, in Latin, Chinese, Japanese, Hindi, Arabic and Urdu.
const ENDS: &str = ".!?。！？।؟۔";
/// Characters that do not occur in prose, for a character class.
const CODE: &str = r#""\\{}<>|\[\]\x00-\x1f\x7f"#;

/// The rest of a sentence after its first letter. A point in a number ends no sentence.
fn inner(least: u64, most: u64) -> String {
    format!("([^{ENDS}{CODE}]|[.][0-9]){{{least},{most}}}[{ENDS}]")
}

/// A main text: one to three sentences.
pub(super) fn sentences() -> String {
    let (least, most) = SENTENCE;
    let (first, next, more) = (inner(least, most), inner(1, most), MAX_SENTENCES - 1);
    format!("^{LETTER}{first}( ?{LETTER_OR_DIGIT}{next}){{0,{more}}}$")
}

/// Another text of at most `max` characters: a sentence, or a few words if it is short. It may be empty if `min` is 0.
pub(super) fn phrase(min: u64, max: u64) -> String {
    let text = if max > MAX_WORDS {
        // A point inside counts twice.
        format!("{LETTER_OR_DIGIT}{}", inner(1, max - 2))
    } else {
        format!("{LETTER_OR_DIGIT}[^{CODE}]{{0,{}}}", max.saturating_sub(1))
    };
    if min == 0 {
        format!("^({text})?$")
    } else {
        format!("^{text}$")
    }
}

#[cfg(test)]
#[path = "prose_tests.rs"]
mod tests;
