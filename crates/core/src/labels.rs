//! Labels of claims (M-03). A FACT needs a citation, an ASSUME must not have one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::citations;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Label {
    /// Can be verified directly; carries a citation.
    Fact,
    /// Follows from what was stated.
    Infer,
    /// A premise nobody verified, or a choice of values; carries no citation.
    Assume,
}

impl Label {
    pub const ALL: [Self; 3] = [Self::Fact, Self::Infer, Self::Assume];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Fact => "FACT",
            Self::Infer => "INFER",
            Self::Assume => "ASSUME",
        }
    }
}

/// A violated labelling rule, with an excerpt of the claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum LabelFault {
    #[error(
        "[FACT] without a citation: \"{claim}\". Cite a reference of your list, or label it INFER or ASSUME."
    )]
    UncitedFact { claim: String },
    #[error(
        "[ASSUME] with a citation: \"{claim}\". An assumption carries none; label what the source says as FACT."
    )]
    CitedAssumption { claim: String },
    #[error("\"{claim}\" has two labels. Give each claim one.")]
    SeveralLabels { claim: String },
}

/// Checks that the label fits the presence or absence of a citation.
pub fn check(label: Label, is_cited: bool, claim: &str) -> Option<LabelFault> {
    let claim = excerpt(claim);
    match (label, is_cited) {
        (Label::Fact, false) => Some(LabelFault::UncitedFact { claim }),
        (Label::Assume, true) => Some(LabelFault::CitedAssumption { claim }),
        (Label::Fact, true) | (Label::Infer, _) | (Label::Assume, false) => None,
    }
}

/// [`check`] for labels in running text: `It doubled.[FACT][1]` or `It doubled [1].[FACT]`.
pub fn check_text(text: &str) -> Vec<LabelFault> {
    let mut faults = Vec::new();
    let mut from = 0;
    let mut labelled = "";
    while let Some((label, start, end)) = next_tag(text, from) {
        if from > 0 && has_no_words(&text[from..start]) {
            faults.push(LabelFault::SeveralLabels {
                claim: excerpt(labelled),
            });
            from = end;
            continue;
        }
        let sentence = sentence_before(text, start);
        labelled = sentence;
        let is_cited = citations::starts_with_citation(&text[end..])
            || citations::ends_with_citation(sentence);
        faults.extend(check(label, is_cited, sentence));
        from = end;
    }
    faults
}

/// Whether there is nothing but citations and punctuation.
fn has_no_words(text: &str) -> bool {
    let is_mark = |c: char| c.is_ascii_digit() || c.is_whitespace() || "[]-.,;".contains(c);
    !text.contains('\n') && text.chars().all(is_mark)
}

/// Whether the text of a claim contains a label.
pub fn has_tag(text: &str) -> bool {
    next_tag(text, 0).is_some()
}

/// The text of a claim without labels.
pub fn without_tags(text: &str) -> String {
    if !has_tag(text) {
        return text.to_owned();
    }
    let tags = Label::ALL.map(|label| format!("[{}]", label.name()));
    let bare = tags
        .iter()
        .fold(text.to_owned(), |text, tag| text.replace(tag, " "));
    crate::wording::one_line(&bare)
}

fn next_tag(text: &str, from: usize) -> Option<(Label, usize, usize)> {
    let rest = text.get(from..)?;
    let found = Label::ALL.into_iter().filter_map(|label| {
        let tag = format!("[{}]", label.name());
        rest.find(&tag)
            .map(|at| (label, from + at, from + at + tag.len()))
    });
    found.min_by_key(|(_, start, _)| *start)
}

/// The sentence that ends at `end`, the start of a label.
fn sentence_before(text: &str, end: usize) -> &str {
    let head = text[..end].trim_end_matches(['.', ' ', '!', '?']);
    let start = head.rfind(['.', '\n', '!', '?']).map_or(0, |at| at + 1);
    let mut sentence = head[start..].trim();
    // Skip the label and citations of the previous sentence.
    while let Some((_, rest)) = sentence.strip_prefix('[').and_then(|s| s.split_once(']')) {
        sentence = rest.trim_start();
    }
    sentence
}

fn excerpt(claim: &str) -> String {
    const MAX_CHARS: usize = 80;
    let line = crate::wording::one_line(claim);
    if line.chars().count() <= MAX_CHARS {
        return line;
    }
    let mut short: String = line.chars().take(MAX_CHARS).collect();
    short.push('…');
    short
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
