//! Checks whether a cited source supports a claim (E-18), by words and figures alone.
//!
//! A claim is *covered* by a passage that contains at least [`MIN_COVERAGE`] of its content words. A covered claim is supported
//! if the passage has all of its figures and the closest sentence does not say the opposite. It is contradicted if the closest
//! sentence covers it and either lacks one of its figures and has another of the same kind instead, or says the opposite in
//! words ([`are_opposed`]). Anything else is not found. This catches wrong numbers and unrelated sources; it does not understand meaning.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::{Figure, figures};
use super::search::{is_stop_word, stem};
use super::{Passage, bare};
use crate::opposition::are_opposed;
use crate::wording;

/// The share of a claim's content words that one passage must contain.
pub const MIN_COVERAGE: f64 = 0.6;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "check")]
pub enum Checked {
    /// The passage, by its id.
    Supported {
        passage: String,
    },
    NotFound,
    /// With the figure that the passage has in place of the claim's; `None` if it says the opposite in words.
    Contradicted {
        passage: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        figure: Option<String>,
    },
}

/// `cited` names a source or a passage of it; passages of other sources do not count.
pub fn check<'p>(
    claim: &str,
    cited: &str,
    passages: impl IntoIterator<Item = &'p Passage>,
) -> Checked {
    let cited = passages.into_iter().filter(|p| is_cited(p, cited));
    check_anywhere(claim, cited)
}

/// Checks against every passage, for a claim that names no source but may contradict one.
pub fn check_anywhere<'p>(claim: &str, passages: impl IntoIterator<Item = &'p Passage>) -> Checked {
    let claim = Claim::of(claim);
    if claim.words.is_empty() {
        return Checked::NotFound;
    }
    let mut contradicted = None;
    let mut best: Option<(f64, &Passage)> = None;
    for passage in passages {
        let covered = claim.covered_by(&passage.text);
        if covered < MIN_COVERAGE {
            continue;
        }
        let nearest = claim.nearest_sentence(&passage.text);
        if claim.is_supported_by(&passage.text, nearest) {
            if best.is_none_or(|(highest, _)| covered > highest) {
                best = Some((covered, passage));
            }
        } else if contradicted.is_none() {
            let figure = claim.other_figure(&passage.text, nearest);
            if figure.is_some() || claim.is_denied_by(nearest) {
                let passage = passage.id.clone();
                contradicted = Some(Checked::Contradicted { passage, figure });
            }
        }
    }
    match (best, contradicted) {
        (Some((_, passage)), _) => Checked::Supported {
            passage: passage.id.clone(),
        },
        (None, Some(contradicted)) => contradicted,
        (None, None) => Checked::NotFound,
    }
}

fn is_cited(passage: &Passage, cited: &str) -> bool {
    let cited = bare(cited);
    let source = passage.source.to_lowercase();
    if passage.id.to_lowercase() == cited || source == cited {
        return true;
    }
    // A location that is not a passage id, such as `plan.md, line 4`, cites the whole source.
    let rest = cited.strip_prefix(&source);
    rest.is_some_and(|rest| rest.starts_with([',', ' ', '(', ';']))
}

struct Claim<'t> {
    text: &'t str,
    /// Stems of the content words, without figures.
    words: BTreeSet<String>,
    figures: Vec<Figure>,
}

impl<'t> Claim<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            text,
            words: content_words(text),
            figures: figures(text),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a claim has tens of words")]
    fn covered_by(&self, text: &str) -> f64 {
        let words = content_words(text);
        self.words.intersection(&words).count() as f64 / self.words.len() as f64
    }

    fn nearest_sentence<'p>(&self, text: &'p str) -> &'p str {
        let mut nearest = (f64::NEG_INFINITY, text);
        for sentence in sentences(text) {
            let covered = self.covered_by(sentence);
            if covered > nearest.0 {
                nearest = (covered, sentence);
            }
        }
        nearest.1
    }

    fn is_supported_by(&self, text: &str, nearest: &str) -> bool {
        let present = figures(text);
        let has = |wanted: &Figure| present.iter().any(|figure| wanted.agrees(figure));
        self.figures.iter().all(has) && !are_opposed(self.text, nearest)
    }

    fn is_denied_by(&self, nearest: &str) -> bool {
        self.covered_by(nearest) >= MIN_COVERAGE && are_opposed(self.text, nearest)
    }

    /// The figure of the closest sentence that is nearest in value to a missing one of the same kind.
    fn other_figure(&self, text: &str, nearest: &str) -> Option<String> {
        if self.covered_by(nearest) < MIN_COVERAGE {
            return None;
        }
        let in_passage = figures(text);
        let in_sentence = figures(nearest);
        let missing = self
            .figures
            .iter()
            .find(|wanted| !in_passage.iter().any(|figure| wanted.agrees(figure)))?;
        let is_rival = |figure: &&Figure| {
            figure.kind == missing.kind && !self.figures.iter().any(|own| own.agrees(figure))
        };
        let distance = |figure: &Figure| (figure.value - missing.value).abs();
        in_sentence
            .iter()
            .filter(is_rival)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .map(|figure| figure.text.clone())
    }
}

/// Stems without stop words, negations and figures; figures are compared by value.
fn content_words(text: &str) -> BTreeSet<String> {
    let units = ["percent", "million", "billion", "thousand", "trillion"];
    wording::words(text)
        .filter(|word| !is_stop_word(word) && !units.contains(&word.as_str()))
        .filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
        .filter(|word| !NEGATIONS.contains(&word.as_str()))
        .map(stem)
        .collect()
}

const NEGATIONS: [&str; 9] = [
    "not", "no", "never", "none", "neither", "nor", "without", "cannot", "nobody",
];

/// Split after `. `, `! `, `? ` and `; ` and at line ends, but not at points within numbers and names.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| {
            let mut rest = line;
            std::iter::from_fn(move || {
                if rest.trim().is_empty() {
                    return None;
                }
                let end = [". ", "! ", "? ", "; "]
                    .iter()
                    .filter_map(|mark| rest.find(mark))
                    .min();
                let cut = end.map_or(rest.len(), |at| at + 1);
                let (sentence, after) = rest.split_at(cut);
                rest = after;
                Some(sentence.trim())
            })
        })
        .filter(|sentence| !sentence.is_empty())
}
