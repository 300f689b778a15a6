//! The design's four anti-patterns as figures (T-12). None of them is a verdict: each says how much of what happened between the
//! rounds, or of how the scores lie, has another explanation than reasons. A second round that moved for stated reasons shows
//! nothing here, however far it moved.
//!
//! **Groupthink** ([`Convergence`]). The judges' differences in round 1 are measured by how far each score lies from the mean of its
//! dimension. What of that distance is gone in round 2 has *vanished*; what was taken away by judges who changed a score and gave
//! no reason has vanished *unexplained*. Shares of the differences there were, so that a council that nearly agreed and one that did
//! not can be compared. Only approaches count: a judge who moves away from the mean does not make up for another who gave in.
//!
//! **Anchoring** ([`Anchoring`]). Each judge reads its peers in an order drawn by the debate's seed, so nothing but chance tells the
//! number read first from those read later. A judge that weighs reasons comes nearer to both alike. The figure is the difference:
//! by how many points scores came nearer to the number read first, less by how many they came nearer to the others. Judges with
//! fewer than two peers on a dimension have nothing to compare and are left out.
//!
//! **Politeness** ([`Softening`]). Pairs of judges more than 20 points apart in round 1 that are so no longer. Such a pair was softened
//! *without argument* if it would still be that far apart had only the explained changes been made. So one who gave in with a
//! reason is not blamed for another who moved a point without one.
//!
//! **Inflation** ([`Crowding`]). The share of all last scores that fit into the fullest band of ten points. Content that differs, judged
//! on dimensions that differ, should not come out as seventy everywhere; scores drawn evenly would put about a tenth into any band.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::OutOfHundred;

use super::spread::disagree;

/// From here on a figure is worth a reader's attention. A quarter of the differences gone for no reason; three points, which
/// is more than judges who give whole numbers move by rounding; three quarters of the scores in a tenth of the scale.
const UNEXPLAINED: f64 = 0.25;
const PULL: f64 = 3.0;
const CROWDED: f64 = 0.75;
/// A figure over fewer scores than these is given, but never called noteworthy.
const FEWEST_PULLS: usize = 3;
const FEWEST_SCORES: usize = 5;
const BAND: f64 = 10.0;

/// One judge on one dimension over both rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub dimension: String,
    pub judge: String,
    pub before: OutOfHundred,
    pub after: OutOfHundred,
    /// Whether the judge said why, and which peer moved it. Of no meaning where nothing changed.
    pub is_explained: bool,
    /// The peers' scores on this dimension, in the order in which this judge read them.
    pub read: Vec<OutOfHundred>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BiasFigures {
    /// Convergence to the mean without a stated reason. `null` with one round only, or where nobody differed.
    pub convergence: Option<Convergence>,
    /// Clustering round the first number read. `null` with one round only, or where nobody had two peers.
    pub anchoring: Option<Anchoring>,
    /// Disagreement softened without argument. `null` with one round only.
    pub softening: Option<Softening>,
    /// Scores crowded in a narrow band. `null` without scores.
    pub crowding: Option<Crowding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Convergence {
    /// Share of the differences of round 1 that is gone in round 2.
    pub vanished: f64,
    /// The part of it that was taken away without a stated reason.
    pub unexplained: f64,
    pub noteworthy: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anchoring {
    /// By how many points scores came nearer to the peer's score that was read first.
    pub toward_first: f64,
    /// By how many points they came nearer to the peers' scores that were read later.
    pub toward_later: f64,
    /// The difference: what being first was worth.
    pub pull: f64,
    pub judgements: usize,
    pub noteworthy: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Softening {
    /// Pairs of judges more than 20 points apart on a dimension in round 1.
    pub disagreements: usize,
    /// Those that are so no longer.
    pub softened: usize,
    /// Those that would still be so had only explained changes been made.
    pub without_argument: usize,
    pub noteworthy: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Crowding {
    pub scores: usize,
    pub lowest: f64,
    pub highest: f64,
    /// The fullest band of ten points begins here.
    pub band_from: f64,
    pub band_to: f64,
    /// Share of all scores within it.
    pub share: f64,
    pub noteworthy: bool,
}

/// `judgements` are those of judges who spoke in both rounds; `last` are all scores that count in the end.
pub fn bias_figures(judgements: &[Judgement], last: &[OutOfHundred]) -> BiasFigures {
    BiasFigures {
        convergence: convergence(judgements),
        anchoring: anchoring(judgements),
        softening: softening(judgements),
        crowding: crowding(last),
    }
}

fn by_dimension(judgements: &[Judgement]) -> Vec<Vec<&Judgement>> {
    let mut found = BTreeMap::<&str, Vec<&Judgement>>::new();
    for judgement in judgements {
        found
            .entry(&judgement.dimension)
            .or_default()
            .push(judgement);
    }
    found.into_values().collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "judges of a council are counted in tens"
)]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn convergence(judgements: &[Judgement]) -> Option<Convergence> {
    let (mut there, mut vanished, mut unexplained) = (0.0, 0.0, 0.0);
    for judges in by_dimension(judgements) {
        let before: Vec<f64> = judges.iter().map(|it| it.before.value()).collect();
        let middle = mean(&before);
        for judge in judges {
            let distance = (judge.before.value() - middle).abs();
            let approach = (distance - (judge.after.value() - middle).abs()).max(0.0);
            there += distance;
            vanished += approach;
            if !judge.is_explained {
                unexplained += approach;
            }
        }
    }
    (there > 1e-9).then(|| Convergence {
        vanished: vanished / there,
        unexplained: unexplained / there,
        noteworthy: unexplained / there >= UNEXPLAINED,
    })
}

fn anchoring(judgements: &[Judgement]) -> Option<Anchoring> {
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for judgement in judgements {
        let approach = |peer: &OutOfHundred| {
            (judgement.before.value() - peer.value()).abs()
                - (judgement.after.value() - peer.value()).abs()
        };
        if let [read_first, others @ ..] = judgement.read.as_slice()
            && !others.is_empty()
        {
            first.push(approach(read_first));
            later.push(mean(&others.iter().map(approach).collect::<Vec<_>>()));
        }
    }
    if first.is_empty() {
        return None;
    }
    let (toward_first, toward_later) = (mean(&first), mean(&later));
    let pull = toward_first - toward_later;
    Some(Anchoring {
        toward_first,
        toward_later,
        pull,
        judgements: first.len(),
        noteworthy: first.len() >= FEWEST_PULLS && pull >= PULL,
    })
}

fn softening(judgements: &[Judgement]) -> Option<Softening> {
    if judgements.is_empty() {
        return None;
    }
    let argued = |judgement: &Judgement| {
        if judgement.is_explained {
            judgement.after
        } else {
            judgement.before
        }
    };
    let (mut disagreements, mut softened, mut without_argument) = (0, 0, 0);
    for judges in by_dimension(judgements) {
        for (index, one) in judges.iter().enumerate() {
            for other in &judges[index + 1..] {
                if !disagree(one.before, other.before) {
                    continue;
                }
                disagreements += 1;
                if !disagree(one.after, other.after) {
                    softened += 1;
                    without_argument += usize::from(disagree(argued(one), argued(other)));
                }
            }
        }
    }
    Some(Softening {
        disagreements,
        softened,
        without_argument,
        noteworthy: without_argument > 0,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "scores of a debate are counted in tens"
)]
fn crowding(last: &[OutOfHundred]) -> Option<Crowding> {
    let mut scores: Vec<f64> = last.iter().map(|score| score.value()).collect();
    scores.sort_by(f64::total_cmp);
    let (lowest, highest) = (*scores.first()?, *scores.last()?);
    let within = |from: f64| {
        let band = scores.iter().filter(|it| (from..=from + BAND).contains(it));
        band.count()
    };
    // The fullest band can always be shifted so that it begins at a score. Of equally full ones the lowest is named.
    let mut fullest = (0, lowest);
    for from in &scores {
        let count = within(*from);
        if count > fullest.0 {
            fullest = (count, *from);
        }
    }
    let share = fullest.0 as f64 / scores.len() as f64;
    Some(Crowding {
        scores: scores.len(),
        lowest,
        highest,
        band_from: fullest.1,
        band_to: (fullest.1 + BAND).min(100.0),
        share,
        noteworthy: scores.len() >= FEWEST_SCORES && share >= CROWDED,
    })
}

#[cfg(test)]
#[path = "bias_tests.rs"]
mod tests;
