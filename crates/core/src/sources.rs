//! The user's source documents (M-15, E-18): named texts split into passages with stable ids that can be searched, read in
//! order, and checked against a claim. Nothing here reads files; callers pass the extracted text.

mod check;
mod figures;
mod search;
mod split;

use std::fmt;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use check::{Checked, MIN_COVERAGE, check, check_anywhere};
pub use search::{Index, SearchHit};
pub use split::{MAX_PASSAGE_LENGTH, of_pages, of_rows, of_text};

/// The location of a passage in its source. Lines, rows and pages are counted from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Lines { from: u32, to: u32 },
    Rows { from: u32, to: u32 },
    Page { number: u32, part: u32 },
}

impl Place {
    /// The short form used in ids: `12-20`, `r3-9`, `p4.2`.
    fn short(self) -> String {
        match self {
            Self::Lines { from, to } if from == to => from.to_string(),
            Self::Lines { from, to } => format!("{from}-{to}"),
            Self::Rows { from, to } if from == to => format!("r{from}"),
            Self::Rows { from, to } => format!("r{from}-{to}"),
            Self::Page { number, part: 1 } => format!("p{number}"),
            Self::Page { number, part } => format!("p{number}.{part}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines { from, to } if from == to => write!(f, "line {from}"),
            Self::Lines { from, to } => write!(f, "lines {from}–{to}"),
            Self::Rows { from, to } if from == to => write!(f, "row {from}"),
            Self::Rows { from, to } => write!(f, "rows {from}–{to}"),
            Self::Page { number, part: 1 } => write!(f, "page {number}"),
            Self::Page { number, part } => write!(f, "page {number}, part {part}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    /// Source and location: `plan.md:12-20`.
    pub id: String,
    pub source: String,
    pub place: Place,
    pub text: String,
}

impl Passage {
    /// `part` tells apart passages of one very long line, which have the same lines.
    pub fn new(source: &str, place: Place, part: Option<u32>, text: String) -> Self {
        let part = part.map_or_else(String::new, |part| format!("#{part}"));
        Self {
            id: format!("{source}:{}{part}", place.short()),
            source: source.to_owned(),
            place,
            text,
        }
    }
}

/// One file, as it was when the debate was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub name: String,
    /// Of the bytes that were read.
    pub sha256: String,
    pub passages: Vec<Passage>,
}

/// All sources of a debate. Cheap to clone; the search index is built on first use, or by [`Sources::prepare`].
#[derive(Clone, Default)]
pub struct Sources {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    list: Vec<Source>,
    index: OnceLock<Index>,
}

impl Sources {
    pub fn new(list: Vec<Source>) -> Self {
        Self {
            inner: Arc::new(Inner {
                list,
                index: OnceLock::new(),
            }),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.inner.list.is_empty()
    }

    pub fn list(&self) -> &[Source] {
        &self.inner.list
    }

    pub fn passages(&self) -> impl Iterator<Item = &Passage> {
        self.inner.list.iter().flat_map(|source| &source.passages)
    }

    /// Builds the search index now; for long sources that takes a while.
    pub fn prepare(&self) {
        self.index();
    }

    fn index(&self) -> &Index {
        self.inner.index.get_or_init(|| Index::of(self.passages()))
    }

    /// At most `limit` passages that contain any of these words, the best first.
    pub fn search(&self, words: &str, limit: usize) -> Vec<&Passage> {
        let index = self.index();
        let all: Vec<&Passage> = self.passages().collect();
        let hits = index.search(words, limit).into_iter();
        hits.filter_map(|hit| all.get(hit.at).copied()).collect()
    }

    /// By its id, ignoring case and the brackets or quotes that models add.
    pub fn passage(&self, id: &str) -> Option<&Passage> {
        let id = bare(id);
        self.passages()
            .find(|passage| passage.id.to_lowercase() == id)
    }

    /// A passage and all that follow it in its source; the whole source if only its name is given.
    pub fn from(&self, id: &str) -> Option<&[Passage]> {
        let wanted = bare(id);
        self.inner.list.iter().find_map(|source| {
            if source.name.to_lowercase() == wanted {
                return Some(source.passages.as_slice());
            }
            let mut passages = source.passages.iter();
            let at = passages.position(|passage| passage.id.to_lowercase() == wanted)?;
            source.passages.get(at..)
        })
    }

    /// The source that a citation names, with or without a location after the name.
    pub fn named(&self, citation: &str) -> Option<&Source> {
        let citation = bare(citation);
        self.inner.list.iter().find(|source| {
            let name = source.name.to_lowercase();
            let rest = citation.strip_prefix(&name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        })
    }
}

/// In lower case, without the brackets and quotes that models put around ids.
fn bare(id: &str) -> String {
    let is_decoration = |c: char| c.is_whitespace() || "[]\"'`<>“”".contains(c);
    id.trim_matches(is_decoration).to_lowercase()
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.inner.list).finish()
    }
}

impl PartialEq for Sources {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) || self.inner.list == other.inner.list
    }
}

impl Eq for Sources {}

impl Serialize for Sources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.list.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
