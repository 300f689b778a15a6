//! Which of the things that seats cite are the same: case, punctuation, the forms of an address and small slips in a title
//! do not make another source (E-07).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::EvidenceType;
use crate::citations::{address_key, same_title};
use crate::wording::{normal, one_line};

/// The place of a source in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceId(pub usize);

/// A source as somebody cites it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    pub title: String,
    pub address: Option<String>,
}

impl Cited {
    /// An address within the words is taken out of them.
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
        let given = address.map(one_line).filter(|it| !it.is_empty());
        Self {
            address: given.or(read.address),
            ..read
        }
    }

    /// Nothing is cited by punctuation alone.
    pub fn is_empty(&self) -> bool {
        self.address.is_none() && normal(&self.title).is_empty()
    }

    /// How people read it.
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
        // Two pages of one site often share a title; their addresses tell them apart.
        return page(a) == page(b);
    }
    let (a, b) = (plain(&a.title), plain(&b.title));
    !a.is_empty() && (same_title(&a, &b) || is_slip(&a, &b))
}

/// An address without what only says how somebody came to it.
fn page(address: &str) -> String {
    let key = address_key(address);
    let (path, query) = key.split_once('?').unwrap_or((&key, ""));
    let kept: BTreeSet<&str> = query
        .split('&')
        .filter(|it| !it.is_empty() && !it.to_ascii_lowercase().starts_with("utm_"))
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

/// A title in its normal form without the article it begins with.
fn plain(title: &str) -> String {
    let form = normal(title);
    let rest = ["the ", "a ", "an "]
        .into_iter()
        .find_map(|article| form.strip_prefix(article));
    rest.unwrap_or(&form).to_owned()
}

/// Whether two titles differ by a slip of the pen: nearly every letter is the same, and every figure is.
#[expect(
    clippy::cast_precision_loss,
    reason = "titles have hundreds of letters"
)]
fn is_slip(a: &str, b: &str) -> bool {
    const NEARLY: f64 = 0.90;
    const SHORTEST: usize = 8;
    let figures = |text: &str| -> Vec<String> {
        let words = text.split(' ').map(str::to_owned);
        let is_figure = |word: &String| word.chars().any(|c| c.is_ascii_digit());
        // A single letter names a variant: part A is not part B.
        words
            .filter(|word| is_figure(word) || word.chars().count() == 1)
            .collect()
    };
    let longest = a.chars().count().max(b.chars().count());
    longest >= SHORTEST
        && figures(a) == figures(b)
        && 1.0 - distance(a, b) as f64 / longest as f64 >= NEARLY
}

/// How many letters have to be put in, left out or exchanged.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let exchanged = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A source with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub id: SourceId,
    /// As it was cited first.
    pub cited: Cited,
    /// As it was cited otherwise.
    pub spellings: BTreeSet<String>,
    /// By which types of evidence it was brought, and how often.
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
    /// The source that is cited here, by whichever name.
    pub fn cite(&mut self, seat: &str, kind: Option<EvidenceType>, cited: &Cited) -> SourceId {
        let index = self
            .sources
            .iter()
            .position(|known| known.is_called(cited))
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

    /// Takes the words of a source away; its id and who cited it stay.
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
    /// Compared with every way it was cited, so that a title alone is found again once it was seen with its address.
    fn is_called(&self, cited: &Cited) -> bool {
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
