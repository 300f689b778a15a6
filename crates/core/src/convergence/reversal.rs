//! Detects nearly equal texts with opposite meanings: a "not" more or less, option A instead of option B (E-19). Embeddings
//! hardly differ for them.

use std::collections::BTreeSet;

use crate::wording;

/// Negations in the most common languages of debates.
const NEGATIONS: [&str; 28] = [
    "not", "no", "never", "without", "cannot", "neither", "nor", "none", "nothing", "nicht",
    "kein", "keine", "keinen", "keiner", "nie", "niemals", "ohne", "ne", "pas", "jamais", "sans",
    "non", "nunca", "sin", "não", "sem", "mai", "senza",
];

const OPPOSITES: [(&str, &str); 22] = [
    ("yes", "no"),
    ("accept", "reject"),
    ("adopt", "avoid"),
    ("allow", "forbid"),
    ("approve", "reject"),
    ("before", "after"),
    ("buy", "sell"),
    ("enable", "disable"),
    ("for", "against"),
    ("grow", "shrink"),
    ("high", "low"),
    ("increase", "decrease"),
    ("keep", "drop"),
    ("keep", "remove"),
    ("more", "less"),
    ("must", "may"),
    ("raise", "lower"),
    ("rise", "fall"),
    ("safe", "unsafe"),
    ("start", "stop"),
    ("true", "false"),
    ("with", "without"),
];

/// Minimum Jaccard similarity of the other words; less similar texts are told apart by their embeddings.
const MIN_SIMILARITY: f64 = 0.75;

/// Whether the two texts differ by a word that reverses the meaning.
pub fn is_reversed(one: &str, other: &str) -> bool {
    let (a, b) = (
        words_without_contractions(one),
        words_without_contractions(other),
    );
    if a == b {
        return false;
    }
    let content = |words: &[String]| -> BTreeSet<String> {
        let is_content = |word: &&String| !is_negation(word);
        words.iter().filter(is_content).cloned().collect()
    };
    let negations = |words: &[String]| words.iter().filter(|word| is_negation(word)).count();
    let is_negated = negations(&a) % 2 != negations(&b) % 2;
    if is_negated && wording::jaccard(&content(&a), &content(&b)) >= MIN_SIMILARITY {
        return true;
    }
    only_difference(&a, &b).is_some_and(|(x, y)| is_other_option(x, y) || are_opposites(x, y))
}

fn words_without_contractions(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('’', "'");
    let text = text
        .replace("can't", "can not")
        .replace("won't", "will not");
    wording::words(&text.replace("n't", " not")).collect()
}

fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word)
}

/// The pair of words if the texts differ in exactly one.
fn only_difference<'a>(a: &'a [String], b: &'a [String]) -> Option<(&'a str, &'a str)> {
    if a.len() != b.len() {
        return None;
    }
    let mut different = a.iter().zip(b).filter(|(x, y)| x != y);
    let (x, y) = different.next()?;
    different
        .next()
        .is_none()
        .then_some((x.as_str(), y.as_str()))
}

/// Whether both are labels of options, such as A and B or 1 and 2.
fn is_other_option(x: &str, y: &str) -> bool {
    let is_label =
        |word: &str| word.chars().count() == 1 || word.chars().all(|c| c.is_ascii_digit());
    is_label(x) && is_label(y)
}

fn are_opposites(x: &str, y: &str) -> bool {
    OPPOSITES
        .iter()
        .any(|(a, b)| (*a == x && *b == y) || (*a == y && *b == x))
}

#[cfg(test)]
#[path = "reversal_tests.rs"]
mod tests;
