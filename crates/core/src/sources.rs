//! What the user gave to be read (M-15, E-18): named sources, cut into passages with stable ids, that can be searched,
//! read on from a place, and held against a claim. Nothing here reads a file: texts come in as they were extracted.

mod check;
mod figures;
mod search;
mod split;

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use check::{Checked, LEAST_COVERED, check, check_anywhere};
pub use search::{Found, Index};
pub use split::{LONGEST, of_pages, of_rows, of_text};

/// Where a passage stands in its source. Lines, rows and pages are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Lines { from: u32, to: u32 },
    Rows { from: u32, to: u32 },
    Page { number: u32, part: u32 },
}

impl Place {
    /// The short form that ids have: `12-20`, `r3-9`, `p4.2`.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    /// Source and place: `plan.md:12-20`.
    pub id: String,
    pub source: String,
    pub place: Place,
    pub text: String,
}

impl Passage {
    pub fn new(source: &str, place: Place, mark: Option<u32>, text: String) -> Self {
        // One very long line makes several passages with the same lines.
        let mark = mark.map_or_else(String::new, |mark| format!("#{mark}"));
        Self {
            id: format!("{source}:{}{mark}", place.short()),
            source: source.to_owned(),
            place,
            text,
        }
    }
}

/// One file, as it was when the debate was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub name: String,
    /// Of the bytes that were read.
    pub sha256: String,
    pub passages: Vec<Passage>,
}

/// All that was given. Cheap to clone; the index is made when something is first searched.
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

    /// The best passages for these words, the best first; none that has none of them.
    pub fn search(&self, words: &str, most: usize) -> Vec<&Passage> {
        let index = self.inner.index.get_or_init(|| Index::of(self.passages()));
        let all: Vec<&Passage> = self.passages().collect();
        let found = index.search(words, most).into_iter();
        found.filter_map(|it| all.get(it.at).copied()).collect()
    }

    /// By its id, as models write it: in brackets, quotes or capitals too.
    pub fn passage(&self, id: &str) -> Option<&Passage> {
        let id = bare(id);
        self.passages().find(|it| it.id.to_lowercase() == id)
    }

    /// A passage and those that follow it in its source; from the beginning where only the source is named.
    pub fn from(&self, id: &str) -> Option<&[Passage]> {
        let wanted = bare(id);
        self.inner.list.iter().find_map(|source| {
            if source.name.to_lowercase() == wanted {
                return Some(source.passages.as_slice());
            }
            let at = source
                .passages
                .iter()
                .position(|it| it.id.to_lowercase() == wanted)?;
            source.passages.get(at..)
        })
    }

    /// The source that a citation names: by itself, or with a place behind it.
    pub fn named(&self, citation: &str) -> Option<&Source> {
        let citation = bare(citation);
        self.inner.list.iter().find(|source| {
            let name = source.name.to_lowercase();
            let rest = citation.strip_prefix(&name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        })
    }
}

/// In small letters, without what models put around ids.
fn bare(id: &str) -> String {
    let around = |c: char| c.is_whitespace() || "[]\"'`<>“”".contains(c);
    id.trim_matches(around).to_lowercase()
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
