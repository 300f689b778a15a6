//! Numeric citations (M-04): `[1]`, `[1][2]`, `[1-3]`, resolved against a numbered list of references. No other form is valid.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wording;

/// One line of a seat's own numbered list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Reference {
    /// From 1, without gaps.
    pub number: u32,
    /// Author, year, title, publisher; or only the id of evidence that is on the table already, such as E2.
    #[schemars(length(min = 1, max = 240))]
    pub title: String,
    #[serde(default)]
    #[schemars(length(max = 300))]
    pub url: Option<String>,
    /// What it shows, in one short sentence.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub gist: String,
    #[serde(default)]
    pub kind: EvidenceKind,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum EvidenceKind {
    #[default]
    Citation,
    ToolOutput,
    Calculation,
}

impl EvidenceKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Citation => "citation",
            Self::ToolOutput => "tool output",
            Self::Calculation => "calculation",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CitationFault {
    #[error("[{number}] is cited, but the reference list has {listed} entries")]
    Unlisted { number: u32, listed: usize },
    #[error("\"{text}\" is not a citation. Write [1], [1][2] or [1-3]")]
    NotNumeric { text: String },
    #[error(
        "the reference list must be numbered 1, 2, 3 …; {found} stands where {expected} belongs"
    )]
    Misnumbered { expected: u32, found: u32 },
    #[error("reference [{number}] has no title")]
    Untitled { number: u32 },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cited {
    pub numbers: BTreeSet<u32>,
    /// Text that looks like a citation in another style.
    pub strange: Vec<String>,
}

/// A wider range is a typo or an attack, not a citation.
const MAX_RANGE: u32 = 50;

pub fn parse(text: &str) -> Cited {
    let mut cited = Cited::default();
    for (inside, after) in groups(text, '[', ']') {
        match range(inside) {
            Some((from, to)) => cited.numbers.extend(from..=to),
            // Not a citation if it is a Markdown link.
            None if !after.starts_with('(') && looks_like_citation(inside) => {
                cited.strange.push(format!("[{inside}]"));
            }
            None => {}
        }
    }
    for (inside, _) in groups(text, '(', ')') {
        if is_author_and_year(inside) {
            cited.strange.push(format!("({inside})"));
        }
    }
    cited
}

/// The innermost texts between the two delimiters, each with the rest of the text after it.
fn groups(text: &str, open: char, close: char) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let end = rest.find(close)?;
            let (head, tail) = rest.split_at(end);
            rest = &tail[close.len_utf8()..];
            if let Some(start) = head.rfind(open) {
                return Some((&head[start + open.len_utf8()..], rest));
            }
        }
    })
}

/// Parses exactly `1` or `1-3`: digits and one ASCII hyphen, the smaller number first.
fn range(inside: &str) -> Option<(u32, u32)> {
    let number = |text: &str| -> Option<u32> {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_plain && *number > 0)
    };
    let (from, to) = match inside.split_once('-') {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(inside)?, number(inside)?),
    };
    (from <= to && to - from <= MAX_RANGE).then_some((from, to))
}

/// Matches `[1, 2]`, `[1–3]`, `[3-1]`, `[^1]`, `[Smith 2024]`, `[Smith et al.]`; not `[C3]`, `[x]`, `[FACT]`.
fn looks_like_citation(inside: &str) -> bool {
    let is_numeric = inside.chars().any(|c| c.is_ascii_digit())
        && inside
            .chars()
            .all(|c| c.is_ascii_digit() || " ,;-–—^".contains(c));
    is_numeric || is_author_and_year(inside) || inside.contains("et al")
}

/// Matches `Smith, 2024`: starts with a capitalized word and ends with a year.
fn is_author_and_year(inside: &str) -> bool {
    let inside = inside.trim();
    let year = inside
        .trim_end_matches(|c: char| c.is_ascii_lowercase())
        .rsplit([' ', ','])
        .next()
        .unwrap_or_default();
    let is_year = year.len() == 4
        && year.bytes().all(|byte| byte.is_ascii_digit())
        && (year.starts_with("19") || year.starts_with("20"));
    let name = inside.split(char::is_whitespace).next().unwrap_or_default();
    let name = name.trim_end_matches(',');
    is_year
        && inside.len() <= 60
        && name.chars().next().is_some_and(char::is_uppercase)
        && name.chars().count() > 1
        && name.chars().all(|c| c.is_alphabetic() || "-'’.&".contains(c))
        // `(Since 2024)` and `(May 2024)` are dates.
        && !NOT_AUTHORS.contains(&name.to_lowercase().as_str())
}

/// Capitalized words before a year that are not names of authors.
const NOT_AUTHORS: [&str; 26] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
    "since",
    "in",
    "by",
];

/// The text with the numbers of a seat's own list replaced by ids of the registry: `[1][2]` and `[1-2]` become `[E3][E4]`. A
/// number without an id stays.
pub fn renumber(text: &str, ids: &BTreeMap<u32, String>) -> String {
    let mut renumbered = String::with_capacity(text.len());
    let mut from = 0;
    for (inside, after) in groups(text, '[', ']') {
        let Some((first, last)) = range(inside) else {
            continue;
        };
        if !(first..=last).any(|number| ids.contains_key(&number)) {
            continue;
        }
        let end = text.len() - after.len();
        let start = end - inside.len() - "[]".len();
        renumbered.push_str(&text[from..start]);
        for number in first..=last {
            let _ = match ids.get(&number) {
                Some(id) => write!(renumbered, "[{id}]"),
                None => write!(renumbered, "[{number}]"),
            };
        }
        from = end;
    }
    renumbered.push_str(&text[from..]);
    renumbered
}

/// Whether the text starts with a citation.
pub fn starts_with_citation(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '.']);
    let inside = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    inside.is_some_and(|(inside, _)| range(inside).is_some())
}

/// Whether the text ends with a citation.
pub fn ends_with_citation(text: &str) -> bool {
    let text = text.trim_end_matches([' ', '.']);
    let inside = text
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['));
    inside.is_some_and(|(_, inside)| range(inside).is_some())
}

/// All faults of the reference list and of the citations that refer to it.
pub fn check(cited: &Cited, references: &[Reference]) -> Vec<CitationFault> {
    let mut faults = Vec::new();
    for (expected, reference) in (1_u32..).zip(references) {
        if reference.number != expected {
            let found = reference.number;
            faults.push(CitationFault::Misnumbered { expected, found });
        }
        if wording::normal(&reference.title).is_empty() {
            let number = reference.number;
            faults.push(CitationFault::Untitled { number });
        }
    }
    let listed = references.len();
    for &number in &cited.numbers {
        if references
            .iter()
            .all(|reference| reference.number != number)
        {
            faults.push(CitationFault::Unlisted { number, listed });
        }
    }
    let strange = cited.strange.iter().cloned();
    faults.extend(strange.map(|text| CitationFault::NotNumeric { text }));
    faults
}

/// A key that is equal for addresses of the same page: without scheme, `www.`, fragment and trailing slash, and with the
/// host in lower case.
pub fn address_key(url: &str) -> String {
    let url = url.trim();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    format!("{host}/{}", path.trim_end_matches('/'))
}

/// Whether two titles name the same work: the same words, or nearly the same words in a long title with the same numbers.
pub fn same_title(a: &str, b: &str) -> bool {
    const MIN_SIMILARITY: f64 = 0.85;
    let (a, b): (BTreeSet<String>, BTreeSet<String>) =
        (wording::words(a).collect(), wording::words(b).collect());
    let numbers = |set: &BTreeSet<String>| -> BTreeSet<String> {
        let has_digit = |word: &&String| word.chars().any(|c| c.is_ascii_digit());
        set.iter().filter(has_digit).cloned().collect()
    };
    !a.is_empty()
        && (a == b
            || a.len().min(b.len()) >= 5
                && numbers(&a) == numbers(&b)
                && wording::jaccard(&a, &b) >= MIN_SIMILARITY)
}

#[cfg(test)]
#[path = "citations_tests.rs"]
mod tests;
