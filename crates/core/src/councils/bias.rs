//! Figures for four biases of judges (T-12). They are indicators, not verdicts: each measures how much of the change between the
//! rounds, or of the distribution of the scores, is not explained by stated reasons. A round in which every change has a reason
//! shows no bias, however large the changes are.
//!
//! **Groupthink** ([`Convergence`]). The distance of each round-1 score from the mean of its dimension, and the share of that
//! distance that has *vanished* in round 2. The part removed by judges who gave no reason has vanished *unexplained*. Shares make
//! councils with small and large differences comparable. Only moves towards the mean count: a move away does not offset another
//! judge's approach.
//!
//! **Anchoring** ([`Anchoring`]). Each judge reads its peers in a seeded random order, so reasons alone would move a score towards
//! first and later peers alike. The figure is the mean approach to the score read first minus the mean approach to the others.
//! Judges with fewer than two peers on a dimension are excluded.
//!
//! **Politeness** ([`Softening`]). Pairs of judges that were more than 20 points apart in round 1 and no longer are. A pair was
//! softened *without argument* if the explained changes alone would have left it that far apart, so a judge with a reason is not
//! blamed for one without.
//!
//! **Inflation** ([`Crowding`]). The share of all final scores within the fullest band of ten points. Different content on different
//! dimensions should not score about 70 everywhere; evenly distributed scores would put about a tenth into any band.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::OutOfHundred;
use crate::spread::{mean, real};

use super::spread::disagree;

/// Figures are noteworthy from these values on.
const NOTEWORTHY_UNEXPLAINED: f64 = 0.25;
/// More than rounding to whole numbers can explain.
const NOTEWORTHY_PULL: f64 = 3.0;
const NOTEWORTHY_CROWDING: f64 = 0.75;
/// Figures over fewer scores are reported but never noteworthy.
const MIN_PULLS: usize = 3;
const MIN_SCORES: usize = 5;
const BAND: f64 = 10.0;

/// One judge on one dimension over both rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub dimension: String,
    pub judge: String,
    pub before: OutOfHundred,
    pub after: OutOfHundred,
    /// Whether the judge gave a reason and named the peer. Meaningless if the score did not change.
    pub is_explained: bool,
    /// The peers' scores on this dimension, in the order in which this judge read them.
    pub read: Vec<OutOfHundred>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BiasFigures {
    /// Convergence to the mean without a stated reason. `null` with only one round or without differences.
    pub convergence: Option<Convergence>,
    /// Pull towards the first score read. `null` with only one round or if no judge had two peers.
    pub anchoring: Option<Anchoring>,
    /// Disagreement softened without argument. `null` with only one round.
    pub softening: Option<Softening>,
    /// Concentration of scores in a narrow band. `null` without scores.
    pub crowding: Option<Crowding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Convergence {
    /// Share of the differences of round 1 that vanished in round 2.
    pub vanished: f64,
    /// The part of it without a stated reason.
    pub unexplained: f64,
    pub noteworthy: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anchoring {
    /// Mean approach, in points, to the peer score read first.
    pub toward_first: f64,
    /// Mean approach, in points, to the peer scores read later.
    pub toward_later: f64,
    /// `toward_first` minus `toward_later`.
    pub pull: f64,
    pub judgements: usize,
    pub noteworthy: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Softening {
    /// Pairs of judges more than 20 points apart on a dimension in round 1.
    pub disagreements: usize,
    /// Those that no longer are in round 2.
    pub softened: usize,
    /// Those that still would be with only the explained changes.
    pub without_argument: usize,
    pub noteworthy: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Crowding {
    pub scores: usize,
    pub lowest: f64,
    pub highest: f64,
    /// Start of the fullest band of ten points.
    pub band_from: f64,
    pub band_to: f64,
    /// Share of all scores within the band.
    pub share: f64,
    pub noteworthy: bool,
}

/// `judgements` are those of judges who scored in both rounds; `last` are all final scores.
pub fn bias_figures(judgements: &[Judgement], last: &[OutOfHundred]) -> BiasFigures {
    BiasFigures {
        convergence: convergence(judgements),
        anchoring: anchoring(judgements),
        softening: softening(judgements),
        crowding: crowding(last),
    }
}

fn by_dimension(judgements: &[Judgement]) -> impl Iterator<Item = Vec<&Judgement>> {
    let mut found = BTreeMap::<&str, Vec<&Judgement>>::new();
    for judgement in judgements {
        let judges = found.entry(&judgement.dimension).or_default();
        judges.push(judgement);
    }
    found.into_values()
}

fn convergence(judgements: &[Judgement]) -> Option<Convergence> {
    let (mut total, mut vanished, mut unexplained) = (0.0, 0.0, 0.0);
    for judges in by_dimension(judgements) {
        let before: Vec<f64> = judges.iter().map(|judge| judge.before.value()).collect();
        let center = mean(&before)?;
        for judge in judges {
            let distance = (judge.before.value() - center).abs();
            let approach = (distance - (judge.after.value() - center).abs()).max(0.0);
            total += distance;
            vanished += approach;
            if !judge.is_explained {
                unexplained += approach;
            }
        }
    }
    (total > 1e-9).then(|| Convergence {
        vanished: vanished / total,
        unexplained: unexplained / total,
        noteworthy: unexplained / total >= NOTEWORTHY_UNEXPLAINED,
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
            && let Some(to_others) = mean(&others.iter().map(approach).collect::<Vec<_>>())
        {
            first.push(approach(read_first));
            later.push(to_others);
        }
    }
    let (toward_first, toward_later) = (mean(&first)?, mean(&later)?);
    let pull = toward_first - toward_later;
    Some(Anchoring {
        toward_first,
        toward_later,
        pull,
        judgements: first.len(),
        noteworthy: first.len() >= MIN_PULLS && pull >= NOTEWORTHY_PULL,
    })
}

fn softening(judgements: &[Judgement]) -> Option<Softening> {
    if judgements.is_empty() {
        return None;
    }
    let with_explained_changes = |judgement: &Judgement| {
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
                    without_argument += usize::from(disagree(
                        with_explained_changes(one),
                        with_explained_changes(other),
                    ));
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

fn crowding(last: &[OutOfHundred]) -> Option<Crowding> {
    let mut scores: Vec<f64> = last.iter().map(|score| score.value()).collect();
    scores.sort_by(f64::total_cmp);
    let (lowest, highest) = (*scores.first()?, *scores.last()?);
    // A fullest band always starts at some score. Ties go to the lowest band.
    let mut fullest = (0, lowest);
    for &from in &scores {
        let band = from..=from + BAND;
        let count = scores.iter().filter(|score| band.contains(score)).count();
        if count > fullest.0 {
            fullest = (count, from);
        }
    }
    let share = real(fullest.0) / real(scores.len());
    Some(Crowding {
        scores: scores.len(),
        lowest,
        highest,
        band_from: fullest.1,
        band_to: (fullest.1 + BAND).min(100.0),
        share,
        noteworthy: scores.len() >= MIN_SCORES && share >= NOTEWORTHY_CROWDING,
    })
}

#[cfg(test)]
#[path = "bias_tests.rs"]
mod tests;
