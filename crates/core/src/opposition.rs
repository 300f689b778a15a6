//! Detects positions that contradict each other in words: support and oppose, open and closed, a "not" more or less (E-22).
//!
//! A text is split into clauses. Of each clause the rules read its *attitude* (for or against), its words that have an opposite,
//! and its negated words, each with the noun phrase that it is said of. Two clauses about the same thing are opposed if exactly
//! one of attitude and content differs: to be against lowering a fee and for raising it is the same position. The words are data
//! (`opposition/words.txt`). This does not understand meaning: it finds opposites that are stated literally, in English,
//! and prefers to miss one over inventing one. Its precision and recall are measured on labelled pairs.

mod lexicon;
mod reading;

use std::collections::BTreeSet;

use lexicon::{Axis, Lexicon};
use reading::{Clause, Predicate, clauses};

/// The share of the shorter clause's content words that both must have.
const MIN_COMMON_TOPIC: f64 = 0.5;

/// Whether one position excludes the other, as far as their words show.
pub fn are_opposed(one: &str, other: &str) -> bool {
    let lexicon = Lexicon::built_in();
    let (first, second) = (clauses(one, lexicon), clauses(other, lexicon));
    let pairs = || {
        first
            .iter()
            .flat_map(|a| second.iter().map(move |b| (a, b)))
    };
    // If two clauses agree, details elsewhere in the texts may differ.
    let agreed: BTreeSet<Axis> = pairs().flat_map(|(a, b)| agreed_axes(a, b)).collect();
    let same_attitude = agreed.contains(&Axis::Attitude);
    pairs().any(|(a, b)| {
        let differs = content_differs(a, b, &agreed);
        match axis_differs(a, b, Axis::Attitude) {
            // Against lowering a fee, and for raising it.
            Some(attitude) => attitude != differs && (attitude != same_attitude),
            // "Ban cars" and "No cars": a one-sided attitude and a one-sided negation say the same.
            None => differs && !same_attitude && a.is_against() == b.is_against(),
        }
    })
}

fn agreed_axes(a: &Clause, b: &Clause) -> Vec<Axis> {
    let axes: BTreeSet<Axis> = a.predicates.iter().map(|p| p.axis).collect();
    let agrees = |axis: &Axis| axis_differs(a, b, *axis) == Some(false);
    axes.into_iter().filter(agrees).collect()
}

fn content_differs(a: &Clause, b: &Clause, agreed: &BTreeSet<Axis>) -> bool {
    let axes: BTreeSet<Axis> = a.predicates.iter().map(|p| p.axis).collect();
    let mut content = axes
        .into_iter()
        .filter(|axis| *axis != Axis::Attitude && !agreed.contains(axis));
    content.any(|axis| axis_differs(a, b, axis) == Some(true))
        || negation_differs(a, b)
        || is_exchanged(a, b)
}

/// Whether the clauses differ on the axis; `None` if they do not both speak of the same thing on it. One agreeing word is
/// enough to agree: "enable it and disable it for previews" agrees with "enable it".
fn axis_differs(a: &Clause, b: &Clause, axis: Axis) -> Option<bool> {
    let mut differs = None;
    for one in a.predicates.iter().filter(|p| p.axis == axis) {
        for other in b.predicates.iter().filter(|p| p.axis == axis) {
            let judged_elsewhere = axis != Axis::Attitude && one.is_attitude && other.is_attitude;
            if judged_elsewhere || !is_same_topic(a, one, b, other) {
                continue;
            }
            if one.is_positive == other.is_positive {
                return Some(false);
            }
            differs = Some(true);
        }
    }
    differs
}

fn is_same_topic(a: &Clause, one: &Predicate, b: &Clause, other: &Predicate) -> bool {
    match (one.of.is_empty(), other.of.is_empty()) {
        (false, false) => {
            let crosses =
                one.of.iter().any(|word| b.has(word)) && other.of.iter().any(|word| a.has(word));
            (crosses || !one.of.is_disjoint(&other.of)) && has_common_topic(a, b)
        }
        // "Yes" and "No", "Ship it" and "Hold it back" answer the same question.
        (true, true) if a.topic.is_empty() || b.topic.is_empty() => true,
        (true, _) | (_, true) => has_common_topic(a, b),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a clause has tens of words")]
fn has_common_topic(a: &Clause, b: &Clause) -> bool {
    let common = a.topic.intersection(&b.topic).count();
    let shorter = a.topic.len().min(b.topic.len());
    common > 0 && common as f64 >= shorter as f64 * MIN_COMMON_TOPIC
}

/// Whether a word of both clauses is negated in exactly one of them. `unfair` is a negated `fair`.
fn negation_differs(a: &Clause, b: &Clause) -> bool {
    let is_negated = |clause: &Clause, other: &Clause, word: &str| -> Option<bool> {
        let mut signs = BTreeSet::new();
        for (stem, negated) in &clause.words {
            if stem == word {
                signs.insert(*negated);
            } else if reading::without_prefix(stem) == Some(word) && other.has(word) {
                signs.insert(!negated);
            }
        }
        (signs.len() == 1).then(|| signs.contains(&true))
    };
    let words: BTreeSet<&str> = [a, b]
        .into_iter()
        .flat_map(|clause| clause.words.iter())
        .map(|(stem, _)| stem.as_str())
        .collect();
    let differs = |word: &&str| match (is_negated(a, b, word), is_negated(b, a, word)) {
        (Some(one), Some(other)) => one != other,
        (Some(_) | None, _) => false,
    };
    words.iter().any(differs) && has_common_topic(a, b)
}

/// Whether the two sides of a comparison are exchanged: "more good than harm", "more harm than good".
fn is_exchanged(a: &Clause, b: &Clause) -> bool {
    let (Some((left, right)), Some((other_left, other_right))) = (&a.compared, &b.compared) else {
        return false;
    };
    left == other_right && right == other_left && left != right
}

#[cfg(test)]
#[path = "opposition_tests.rs"]
mod tests;
