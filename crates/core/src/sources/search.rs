//! Full-text search over passages: Okapi BM25 (Robertson and Zaragoza 2009) with k1 = 1.2 and b = 0.75. The same words over the
//! same passages always give the same order.

use std::collections::{BTreeSet, HashMap};

use super::Passage;
use crate::wording;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// What was found, by its place among the passages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    pub at: usize,
    pub score: f64,
}

#[derive(Debug, Default)]
pub struct Index {
    /// For every term, in which passages and how often.
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean_length: f64,
}

impl Index {
    #[expect(
        clippy::cast_precision_loss,
        reason = "words and passages are counted in thousands"
    )]
    pub fn of<'p>(passages: impl IntoIterator<Item = &'p Passage>) -> Self {
        let mut index = Self::default();
        for (at, passage) in passages.into_iter().enumerate() {
            let mut counts: HashMap<String, f64> = HashMap::new();
            let mut length = 0.0;
            // The name of a file often says what its text does not.
            let named = wording::words(&passage.source).collect::<Vec<_>>();
            for word in wording::words(&passage.text).chain(named) {
                length += 1.0;
                *counts.entry(stem(word)).or_default() += 1.0;
            }
            index.lengths.push(length);
            for (term, count) in counts {
                index.postings.entry(term).or_default().push((at, count));
            }
        }
        let count = index.lengths.len() as f64;
        index.mean_length = index.lengths.iter().sum::<f64>() / count.max(1.0);
        index
    }

    /// The best first; of equals, the earlier. None that has none of the words.
    #[expect(
        clippy::cast_precision_loss,
        reason = "passages are counted in thousands"
    )]
    pub fn search(&self, query: &str, most: usize) -> Vec<Found> {
        let count = self.lengths.len() as f64;
        let mut scores: HashMap<usize, f64> = HashMap::new();
        // In a fixed order, so that sums of fractions come out the same.
        let terms: BTreeSet<String> = terms(query).collect();
        for postings in terms.iter().filter_map(|term| self.postings.get(term)) {
            let having = postings.len() as f64;
            let rarity = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
            for &(at, often) in postings {
                let length = self.lengths[at] / self.mean_length.max(1.0);
                let weight = often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * length));
                *scores.entry(at).or_default() += rarity * weight;
            }
        }
        let mut found: Vec<Found> = scores
            .into_iter()
            .map(|(at, score)| Found { at, score })
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
        found.truncate(most);
        found
    }
}

/// The words of a query that are worth looking for; all of them where there are no others.
fn terms(query: &str) -> impl Iterator<Item = String> + use<> {
    let all: Vec<String> = wording::words(query).collect();
    let telling: Vec<String> = all
        .iter()
        .filter(|word| !is_filler(word))
        .cloned()
        .collect();
    let kept = if telling.is_empty() { all } else { telling };
    kept.into_iter().map(stem)
}

/// One form for singular and plural; no more, because a wrong stem finds the wrong passage.
pub(super) fn stem(word: String) -> String {
    let is_plain = word.is_ascii() && word.len() > 3;
    if is_plain && word.ends_with("ies") {
        return format!("{}y", &word[..word.len() - 3]);
    }
    let is_plural =
        is_plain && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
    if is_plural {
        return word[..word.len() - 1].to_owned();
    }
    word
}

/// Words that stand in nearly every English sentence.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.binary_search(&word).is_ok()
}

const FILLERS: [&str; 62] = [
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "may", "more", "of", "on", "or", "our", "shall", "should", "so",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "to", "was", "we", "were", "what", "when", "which", "will", "with", "would", "you",
];
