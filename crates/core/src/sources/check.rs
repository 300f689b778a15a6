//! Whether a source says what is claimed with it (E-18), by words and figures alone.
//!
//! The rule, for the passages of the cited source: a claim is *covered* where at least [`LEAST_COVERED`] of its telling words
//! stand in a passage. A covered claim is supported when the passage has all of its figures and the sentence nearest to it
//! is not negated where the claim is not, or the other way round. It is contradicted when the nearest sentence covers it,
//! lacks one of its figures and has another of the same kind instead. Everything else is not found. This finds wrong
//! numbers and sources that speak of something else; it does not understand what is meant.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::figures::{Figure, figures};
use super::search::{is_filler, stem};
use super::{Passage, bare};
use crate::wording;

/// The share of a claim's telling words that must stand in one passage.
pub const LEAST_COVERED: f64 = 0.6;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "check")]
pub enum Checked {
    /// The passage, by its id.
    Supported {
        passage: String,
    },
    NotFound,
    /// What the passage has in place of the claim's figure.
    Contradicted {
        passage: String,
        figure: String,
    },
}

/// `cited` names a source or a passage of it; passages of other sources do not count.
pub fn check<'p>(
    claim: &str,
    cited: &str,
    passages: impl IntoIterator<Item = &'p Passage>,
) -> Checked {
    let of_cited = passages.into_iter().filter(|it| is_cited(it, cited));
    check_anywhere(claim, of_cited)
}

/// The same against every passage: for a claim that names no source but may contradict one.
pub fn check_anywhere<'p>(claim: &str, passages: impl IntoIterator<Item = &'p Passage>) -> Checked {
    let claim = Claim::of(claim);
    if claim.words.is_empty() {
        return Checked::NotFound;
    }
    let mut contradicted = None;
    let mut best: Option<(f64, &Passage)> = None;
    for passage in passages {
        let covered = claim.covered_by(&passage.text);
        if covered < LEAST_COVERED {
            continue;
        }
        let nearest = claim.nearest_sentence(&passage.text);
        if claim.is_borne_out(&passage.text, nearest) {
            if best.is_none_or(|(most, _)| covered > most) {
                best = Some((covered, passage));
            }
        } else if contradicted.is_none() {
            contradicted = claim.other_figure(&passage.text, nearest).map(|figure| {
                let passage = passage.id.clone();
                Checked::Contradicted { passage, figure }
            });
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
    // With a place that is no passage's own, the whole source counts: `plan.md, line 4`.
    let rest = cited.strip_prefix(&source);
    rest.is_some_and(|rest| rest.starts_with([',', ' ', '(', ';']))
}

struct Claim {
    /// Stems of the telling words, figures left out.
    words: BTreeSet<String>,
    figures: Vec<Figure>,
    is_negated: bool,
}

impl Claim {
    fn of(text: &str) -> Self {
        Self {
            words: telling(text),
            figures: figures(text),
            is_negated: is_negated(text),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a claim has tens of words")]
    fn covered_by(&self, text: &str) -> f64 {
        let words = telling(text);
        self.words.intersection(&words).count() as f64 / self.words.len() as f64
    }

    fn nearest_sentence<'t>(&self, text: &'t str) -> &'t str {
        let mut nearest = (f64::NEG_INFINITY, text);
        for sentence in sentences(text) {
            let covered = self.covered_by(sentence);
            if covered > nearest.0 {
                nearest = (covered, sentence);
            }
        }
        nearest.1
    }

    fn is_borne_out(&self, text: &str, nearest: &str) -> bool {
        let there = figures(text);
        let has = |wanted: &Figure| there.iter().any(|it| wanted.agrees(it));
        self.figures.iter().all(has) && self.is_negated == is_negated(nearest)
    }

    /// The nearest figure of the same kind as one that is missing.
    fn other_figure(&self, text: &str, nearest: &str) -> Option<String> {
        if self.covered_by(nearest) < LEAST_COVERED {
            return None;
        }
        let everywhere = figures(text);
        let beside = figures(nearest);
        let missing = self
            .figures
            .iter()
            .find(|wanted| !everywhere.iter().any(|it| wanted.agrees(it)))?;
        let rivals = beside
            .iter()
            .filter(|it| it.kind == missing.kind && !self.figures.iter().any(|own| own.agrees(it)));
        let distance = |it: &Figure| (it.value - missing.value).abs();
        rivals
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .map(|it| it.text.clone())
    }
}

/// Stems without fillers and without figures: figures are compared by their values.
fn telling(text: &str) -> BTreeSet<String> {
    let units = ["percent", "million", "billion", "thousand", "trillion"];
    wording::words(text)
        .filter(|word| !is_filler(word) && !units.contains(&word.as_str()))
        .filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
        .filter(|word| !NEGATIONS.contains(&word.as_str()))
        .map(stem)
        .collect()
}

const NEGATIONS: [&str; 9] = [
    "not", "no", "never", "none", "neither", "nor", "without", "cannot", "nobody",
];

fn is_negated(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains("n't")
        || lower.contains("n’t")
        || wording::words(&lower).any(|word| NEGATIONS.contains(&word.as_str()))
}

/// Cut behind `. `, `! `, `? ` and at line ends; points within numbers and names do not cut.
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
