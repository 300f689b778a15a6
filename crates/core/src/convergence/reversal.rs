//! Two texts that are nearly the same and mean the opposite: a "not" more or less, option A for option B (E-19). An
//! embedder hardly sees it.

use std::collections::BTreeSet;

use crate::wording;

/// Words that turn a sentence round, in the languages that panels are most often held in.
const NEGATIONS: [&str; 28] = [
    "not", "no", "never", "without", "cannot", "neither", "nor", "none", "nothing", "nicht",
    "kein", "keine", "keinen", "keiner", "nie", "niemals", "ohne", "ne", "pas", "jamais", "sans",
    "non", "nunca", "sin", "não", "sem", "mai", "senza",
];

/// Words of which one is the other's opposite.
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

/// So much of the other words must be the same; below that they are two different texts and their measure will tell.
const ALIKE: f64 = 0.75;

/// Whether one text is the other turned round by a word.
pub fn is_reversed(one: &str, other: &str) -> bool {
    let (a, b) = (spelled_out(one), spelled_out(other));
    if a == b {
        return false;
    }
    let content = |words: &[String]| -> BTreeSet<String> {
        let is_content = |word: &&String| !is_negation(word);
        words.iter().filter(is_content).cloned().collect()
    };
    let negations = |words: &[String]| words.iter().filter(|word| is_negation(word)).count();
    let is_negated = negations(&a) % 2 != negations(&b) % 2;
    if is_negated && wording::jaccard(&content(&a), &content(&b)) >= ALIKE {
        return true;
    }
    exchanged(&a, &b).is_some_and(|(x, y)| is_other_option(x, y) || are_opposites(x, y))
}

fn spelled_out(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('’', "'");
    let text = text
        .replace("can't", "can not")
        .replace("won't", "will not");
    wording::words(&text.replace("n't", " not")).collect()
}

fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word)
}

/// The one word by which two texts differ.
fn exchanged<'a>(a: &'a [String], b: &'a [String]) -> Option<(&'a str, &'a str)> {
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

/// A and B, 1 and 2: names of options rather than words.
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
