//! Full-text search over passages: Okapi BM25 (Robertson and Zaragoza 2009) with k1 = 1.2 and b = 0.75. The same words over the
//! same passages always give the same order.

use std::collections::{BTreeSet, HashMap};

use super::Passage;
use crate::wording;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A search hit, by its index among the passages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchHit {
    pub at: usize,
    pub score: f64,
}

#[derive(Debug, Default)]
pub struct Index {
    /// For every term, the passages that contain it and its frequency there.
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
            // File names often contain words that the text does not.
            let name = wording::words(&passage.source).collect::<Vec<_>>();
            for word in wording::words(&passage.text).chain(name) {
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

    /// At most `limit` hits, the best first and equal ones by index. Passages without any of the words are left out.
    #[expect(
        clippy::cast_precision_loss,
        reason = "passages are counted in thousands"
    )]
    pub fn search(&self, query: &str, limit: usize) -> Vec<SearchHit> {
        let count = self.lengths.len() as f64;
        let mut scores: HashMap<usize, f64> = HashMap::new();
        // In a fixed order, because the rounding of a sum depends on it.
        let terms: BTreeSet<String> = terms(query).collect();
        for postings in terms.iter().filter_map(|term| self.postings.get(term)) {
            let matches = postings.len() as f64;
            let idf = (1.0 + (count - matches + 0.5) / (matches + 0.5)).ln();
            for &(at, frequency) in postings {
                let length = self.lengths[at] / self.mean_length.max(1.0);
                let weight = frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * length));
                *scores.entry(at).or_default() += idf * weight;
            }
        }
        let mut hits: Vec<SearchHit> = scores
            .into_iter()
            .map(|(at, score)| SearchHit { at, score })
            .collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
        hits.truncate(limit);
        hits
    }
}

/// The words of a query without stop words; all words if there are no others.
fn terms(query: &str) -> impl Iterator<Item = String> + use<> {
    let all: Vec<String> = wording::words(query).collect();
    let content: Vec<String> = all
        .iter()
        .filter(|word| !is_stop_word(word))
        .cloned()
        .collect();
    let kept = if content.is_empty() { all } else { content };
    kept.into_iter().map(stem)
}

/// Reduces plurals to the singular; nothing more, because a wrong stem finds the wrong passage.
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

/// Words that occur in nearly every English sentence.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

const STOP_WORDS: [&str; 62] = [
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "may", "more", "of", "on", "or", "our", "shall", "should", "so",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "to", "was", "we", "were", "what", "when", "which", "will", "with", "would", "you",
];
