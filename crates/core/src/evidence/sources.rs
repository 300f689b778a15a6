//! Deduplicates cited sources (E-07): case, punctuation, variants of a URL and small typos in a title are ignored.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::EvidenceType;
use crate::citations::{address_key, same_title};
use crate::wording::{normal, one_line};

/// Index of a source in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceId(pub usize);

/// A source as a seat cites it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    pub title: String,
    pub address: Option<String>,
}

impl Cited {
    /// Parses a citation; the first URL in the text becomes the address.
    pub fn read(text: &str) -> Self {
        let mut address = None;
        let mut words = Vec::new();
        for word in text.split_whitespace() {
            let bare = word.trim_matches(|c: char| "()<>[]{}\"'`,;.:!?".contains(c));
            if address.is_none() && is_address(bare) {
                address = Some(bare.to_owned());
            } else {
                words.push(word);
            }
        }
        Self {
            title: one_line(&words.join(" ")),
            address,
        }
    }

    pub fn with_address(title: &str, address: Option<&str>) -> Self {
        let read = Self::read(title);
        let given = address.map(one_line).filter(|address| !address.is_empty());
        Self {
            address: given.or(read.address),
            ..read
        }
    }

    /// Punctuation alone counts as empty.
    pub fn is_empty(&self) -> bool {
        self.address.is_none() && normal(&self.title).is_empty()
    }

    /// For display.
    pub fn shown(&self) -> String {
        match &self.address {
            Some(address) if normal(&self.title).is_empty() => address.clone(),
            Some(address) => format!("{} {address}", self.title),
            None => self.title.clone(),
        }
    }
}

fn is_address(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let rest = ["https://", "http://", "www."]
        .into_iter()
        .find_map(|start| lower.strip_prefix(start));
    rest.is_some_and(|rest| rest.contains('.') || rest.starts_with("localhost"))
}

/// Whether two citations are of the same source.
pub fn same_source(a: &Cited, b: &Cited) -> bool {
    if let (Some(a), Some(b)) = (&a.address, &b.address) {
        // Pages of one site often share a title, so the addresses decide.
        return page(a) == page(b);
    }
    let (a, b) = (without_article(&a.title), without_article(&b.title));
    !a.is_empty() && (same_title(&a, &b) || is_typo(&a, &b))
}

/// A URL without tracking parameters, default port and index file.
fn page(address: &str) -> String {
    let key = address_key(address);
    let (path, query) = key.split_once('?').unwrap_or((&key, ""));
    let kept: BTreeSet<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.to_ascii_lowercase().starts_with("utm_"))
        .collect();
    let (host, rest) = path.split_once('/').unwrap_or((path, ""));
    let host = host.trim_end_matches(":80").trim_end_matches(":443");
    let rest = ["index.html", "index.htm", "index.php"]
        .into_iter()
        .find_map(|name| rest.strip_suffix(name))
        .unwrap_or(rest)
        .trim_end_matches('/');
    let query: Vec<&str> = kept.into_iter().collect();
    format!("{host}/{rest}?{}", query.join("&"))
}

/// A normalized title without its leading article.
fn without_article(title: &str) -> String {
    let form = normal(title);
    let rest = ["the ", "a ", "an "]
        .into_iter()
        .find_map(|article| form.strip_prefix(article));
    rest.unwrap_or(&form).to_owned()
}

/// Whether two titles differ only by a typo: at least 90% of the letters and all numbers are the same.
#[expect(
    clippy::cast_precision_loss,
    reason = "titles have hundreds of letters"
)]
fn is_typo(a: &str, b: &str) -> bool {
    const MIN_SIMILARITY: f64 = 0.90;
    const MIN_LENGTH: usize = 8;
    let identifiers = |text: &str| -> Vec<String> {
        let words = text.split(' ').map(str::to_owned);
        let has_digit = |word: &String| word.chars().any(|c| c.is_ascii_digit());
        // A single letter names a variant, as in part A and part B.
        words
            .filter(|word| has_digit(word) || word.chars().count() == 1)
            .collect()
    };
    let longest = a.chars().count().max(b.chars().count());
    longest >= MIN_LENGTH
        && identifiers(a) == identifiers(b)
        && 1.0 - edit_distance(a, b) as f64 / longest as f64 >= MIN_SIMILARITY
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A source with all its citations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub id: SourceId,
    /// As it was cited first.
    pub cited: Cited,
    /// The other ways in which it was cited.
    pub spellings: BTreeSet<String>,
    /// How often it was cited as each type of evidence.
    pub kinds: BTreeMap<EvidenceType, usize>,
    pub cited_by: BTreeSet<String>,
}

/// All sources of a debate. Ids never change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Registry {
    sources: Vec<Source>,
}

impl Registry {
    /// Records a citation and returns its source, which is registered if it is new.
    pub fn cite(&mut self, seat: &str, kind: Option<EvidenceType>, cited: &Cited) -> SourceId {
        let index = self
            .sources
            .iter()
            .position(|known| known.matches(cited))
            .unwrap_or_else(|| {
                self.sources.push(Source {
                    id: SourceId(self.sources.len()),
                    cited: cited.clone(),
                    spellings: BTreeSet::new(),
                    kinds: BTreeMap::new(),
                    cited_by: BTreeSet::new(),
                });
                self.sources.len() - 1
            });
        let source = &mut self.sources[index];
        if cited.shown() != source.cited.shown() {
            source.spellings.insert(cited.shown());
        }
        if let Some(kind) = kind {
            *source.kinds.entry(kind).or_insert(0) += 1;
        }
        source.cited_by.insert(seat.to_owned());
        source.id
    }

    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0)
    }

    pub fn all(&self) -> &[Source] {
        &self.sources
    }

    /// Replaces the text of a source by `words`; its id and the seats that cited it stay.
    pub(super) fn redact(&mut self, id: SourceId, words: &str) {
        if let Some(source) = self.sources.get_mut(id.0) {
            source.cited = Cited {
                title: words.to_owned(),
                address: None,
            };
            source.spellings.clear();
        }
    }
}

impl Source {
    /// Compares with every spelling, so that a title alone matches once it was cited together with its address.
    fn matches(&self, cited: &Cited) -> bool {
        same_source(&self.cited, cited)
            || self
                .spellings
                .iter()
                .any(|spelling| same_source(&Cited::read(spelling), cited))
    }
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
