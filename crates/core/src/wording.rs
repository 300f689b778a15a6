//! Comparing texts by their words: equality of claims, repetition, overlap and clustering.
//!
//! Independent of the language. Letters of every script count; case, punctuation and spacing do not.

use std::collections::{BTreeSet, HashSet};

/// The words of a text in lower case, without punctuation.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// The normal form of a text: its words in lower case, joined by single spaces. Equal claims have equal normal forms.
pub fn normal(text: &str) -> String {
    words(text).collect::<Vec<_>>().join(" ")
}

/// Jaccard index: the size of the intersection over the size of the union; 0 for two empty sets.
#[expect(
    clippy::cast_precision_loss,
    reason = "sets of words and ids are counted in thousands"
)]
pub fn jaccard<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> f64 {
    let union = a.union(b).count();
    if union == 0 {
        return 0.0;
    }
    a.intersection(b).count() as f64 / union as f64
}

/// The share of `text` that repeats `earlier` verbatim: the share of its five-word sequences that occur there.
#[expect(
    clippy::cast_precision_loss,
    reason = "a text has thousands of words, not more"
)]
pub fn echo(text: &str, earlier: &str) -> f64 {
    const RUN: usize = 5;
    let (text, earlier): (Vec<_>, Vec<_>) = (words(text).collect(), words(earlier).collect());
    let own: HashSet<&[String]> = text.windows(RUN).collect();
    if own.is_empty() {
        return 0.0;
    }
    let known: HashSet<&[String]> = earlier.windows(RUN).collect();
    own.intersection(&known).count() as f64 / own.len() as f64
}

/// Whether a reply mostly repeats, word for word, the text that it should answer or judge.
pub fn parrots(reply: &str, text: &str) -> bool {
    const MAX_REPEATED: f64 = 0.5;
    echo(reply, text) >= MAX_REPEATED
}

/// The first sentence of a Markdown text, without headings and the marks of lists.
pub fn first_sentence(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let line = line.unwrap_or_default().trim_start_matches(['-', '*', ' ']);
    let ends = line
        .match_indices(['.', '!', '?'])
        .map(|(at, mark)| at + mark.len());
    let end = ends
        .into_iter()
        .find(|end| line[*end..].starts_with(char::is_whitespace));
    &line[..end.unwrap_or(line.len())]
}

/// A text on one line, with single spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number of single-linkage clusters: items with a similarity of at least `threshold` are joined, directly or in a chain.
pub fn clusters(count: usize, threshold: f64, similarity: impl Fn(usize, usize) -> f64) -> usize {
    let mut group: Vec<usize> = (0..count).collect();
    for a in 0..count {
        for b in 0..a {
            if similarity(a, b) >= threshold {
                let (from, to) = (group[a], group[b]);
                for member in &mut group {
                    if *member == from {
                        *member = to;
                    }
                }
            }
        }
    }
    group.into_iter().collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
#[path = "wording_tests.rs"]
mod tests;
