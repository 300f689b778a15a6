//! How close a panel is, by measure (E-05 … E-08, E-19, E-20): likeness of the positions, how far they moved, how much
//! evidence they share, and whether their answers agree. After each round there is exactly one status.
//!
//! Alike words are not agreement: a likeness over answers that contradict each other is no consensus, and a position
//! that was turned by one word has moved, however alike the two texts are.

mod answers;
mod reversal;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::evidence::Level;
use crate::scale::{Scale, Similarity};
use crate::similarity::{cosine, normalise};
use crate::spread;

pub use answers::{
    Agreement, Answer, Contradiction, Group, Majority, groups, is_turned, majority, same_option,
};
pub use reversal::is_reversed;

/// Where the lines are drawn (E-08). The design's figures unless somebody sets others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// Positions at least this alike are a consensus.
    pub similarity: f64,
    /// This share of common sources is strong agreement on the evidence.
    pub evidence: f64,
    /// A mean shift below this is a settled panel.
    pub settled: f64,
    /// A mean shift below this is no progress.
    pub stalled: f64,
    /// So many rounds running without progress are enough.
    pub stalled_rounds: u32,
    /// Positions more alike than this …
    pub early_similarity: f64,
    /// … by this round are suspicious.
    pub early_round: u32,
    /// A similarity that falls by more than this is told.
    pub divergence: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            similarity: 0.80,
            evidence: 0.60,
            settled: 0.10,
            stalled: 0.05,
            stalled_rounds: 2,
            early_similarity: 0.85,
            early_round: 2,
            divergence: 0.10,
        }
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ThresholdError {
    #[error("{name} is {found}; it has to be from 0 to 1")]
    OutOfRange { name: &'static str, found: f64 },
    #[error("stalled_rounds is 0; at least one round has to pass without progress")]
    NoRounds,
}

impl Thresholds {
    pub fn checked(self) -> Result<Self, ThresholdError> {
        for (name, found) in [
            ("similarity", self.similarity),
            ("evidence", self.evidence),
            ("settled", self.settled),
            ("stalled", self.stalled),
            ("early_similarity", self.early_similarity),
            ("divergence", self.divergence),
        ] {
            if !(0.0..=1.0).contains(&found) {
                return Err(ThresholdError::OutOfRange { name, found });
            }
        }
        if self.stalled_rounds == 0 {
            return Err(ThresholdError::NoRounds);
        }
        Ok(self)
    }
}

/// Mean cosine of each two positions (E-05), raw and as the thresholds read it. `None` where there are not two, or where
/// their vectors cannot be compared.
pub fn similarity(positions: &[Vec<f32>], scale: &Scale) -> Option<Similarity> {
    let pairs: Option<Vec<f64>> = positions
        .iter()
        .enumerate()
        .flat_map(|(index, a)| positions.iter().skip(index + 1).map(move |b| (a, b)))
        .map(|(a, b)| compared(a, b))
        .collect();
    // The scale was measured on means of rounds, so it is the mean that is read on it.
    spread::mean(&pairs?).map(|mean| read(mean, scale))
}

/// How far one seat moved (E-06): one minus the cosine with its own last position, raw and scaled.
pub fn shift(before: &[f32], now: &[f32], scale: &Scale) -> Option<Similarity> {
    let alike = read(compared(before, now)?, scale);
    Some(Similarity {
        raw: exact(1.0 - alike.raw),
        scaled: exact(1.0 - alike.scaled),
    })
}

fn compared(a: &[f32], b: &[f32]) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    normalise(&mut a);
    normalise(&mut b);
    Some(cosine(&a, &b).clamp(-1.0, 1.0))
}

/// Nothing is less alike than not at all.
fn read(raw: f64, scale: &Scale) -> Similarity {
    let read = scale.read(raw);
    Similarity {
        raw: exact(read.raw),
        scaled: exact(read.scaled.clamp(0.0, 1.0)),
    }
}

/// Sources cited by all, over sources cited by any (E-07); 0 when there are none.
#[expect(clippy::cast_precision_loss, reason = "sources are counted in tens")]
pub fn evidence_convergence<T: Ord + Clone>(cited: &[BTreeSet<T>]) -> f64 {
    let any: BTreeSet<&T> = cited.iter().flatten().collect();
    if any.is_empty() {
        return 0.0;
    }
    let common = any
        .iter()
        .filter(|source| cited.iter().all(|set| set.contains(**source)));
    common.count() as f64 / any.len() as f64
}

/// A round as it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    pub round: u32,
    /// `None` without an embedder, or with fewer than two positions.
    pub similarity: Option<Similarity>,
    /// Mean of the seats that spoke before, scaled; `None` in the first round.
    pub shift: Option<f64>,
    pub evidence: f64,
    pub agreement: Agreement,
    /// Who turned: another answer, or the same words with the opposite meaning.
    pub turned: Vec<String>,
    /// Whether anybody had spoken before, so that there is a movement to speak of.
    pub compared: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    ConsensusReached,
    ConsensusWithDiverseEvidence,
    DiminishingReturns,
    Continue,
}

impl Status {
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConsensusReached => "consensus_reached",
            Self::ConsensusWithDiverseEvidence => "consensus_with_diverse_evidence",
            Self::DiminishingReturns => "diminishing_returns",
            Self::Continue => "continue",
        }
    }

    /// For people.
    pub const fn shown(self) -> &'static str {
        match self {
            Self::ConsensusReached => "CONSENSUS REACHED",
            Self::ConsensusWithDiverseEvidence => "CONSENSUS REACHED (diverse evidence)",
            Self::DiminishingReturns => "DIMINISHING RETURNS (a person decides)",
            Self::Continue => "CONTINUE",
        }
    }

    /// How much the outcome is worth; `None` while there is none.
    pub const fn level(self) -> Option<Level> {
        match self {
            Self::ConsensusReached => Some(Level::High),
            Self::ConsensusWithDiverseEvidence => Some(Level::MediumHigh),
            Self::DiminishingReturns => Some(Level::Medium),
            Self::Continue => None,
        }
    }

    pub const fn is_consensus(self) -> bool {
        match self {
            Self::ConsensusReached | Self::ConsensusWithDiverseEvidence => true,
            Self::DiminishingReturns | Self::Continue => false,
        }
    }
}

/// What stands beside a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    EarlyConsensus,
    Diverging,
}

impl Warning {
    pub const fn shown(self) -> &'static str {
        match self {
            Self::EarlyConsensus => {
                "EARLY CONSENSUS: a devil's-advocate round is played before it may end"
            }
            Self::Diverging => "POSITIONS DIVERGE: they are further apart than a round ago",
        }
    }
}

/// What the decision rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    Measured,
    /// There was no embedder: nothing is known of the words.
    TypedAnswersAlone,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub status: Status,
    pub warnings: Vec<Warning>,
    pub basis: Basis,
    /// Positions were alike enough, and the answers contradict each other (E-19).
    pub vetoed: bool,
}

/// The status after the last of these rounds, in the order of E-08. `None` before the first.
pub fn after_round(history: &[Metrics], thresholds: &Thresholds) -> Option<Decision> {
    let last = history.last()?;
    let basis = if last.similarity.is_some() {
        Basis::Measured
    } else {
        Basis::TypedAnswersAlone
    };
    let is_alike = is_alike(last, thresholds);
    let is_contradicted = !last.agreement.contradictions.is_empty();
    let agrees = is_alike && !is_contradicted;
    let status =
        if agrees && (last.evidence >= thresholds.evidence || is_below(last, thresholds.settled)) {
            Status::ConsensusReached
        } else if agrees {
            Status::ConsensusWithDiverseEvidence
        } else if is_stalled(history, thresholds) {
            Status::DiminishingReturns
        } else {
            Status::Continue
        };
    Some(Decision {
        status,
        warnings: warnings(history, thresholds),
        basis,
        vetoed: is_alike && is_contradicted,
    })
}

/// By measure; where there is none, by the answers themselves.
fn is_alike(metrics: &Metrics, thresholds: &Thresholds) -> bool {
    match metrics.similarity {
        Some(similarity) => exact(similarity.scaled) >= thresholds.similarity,
        None => metrics.agreement.is_unanimous(),
    }
}

/// A seat that turned has moved, however small the measured shift is.
fn is_below(metrics: &Metrics, limit: f64) -> bool {
    let is_small = match (metrics.similarity, metrics.shift) {
        (Some(_), Some(shift)) => exact(shift) < limit,
        (Some(_), None) => false,
        // Without a measure, nobody who turned is all that can be known.
        (None, _) => metrics.compared > 0,
    };
    is_small && metrics.turned.is_empty()
}

fn is_stalled(history: &[Metrics], thresholds: &Thresholds) -> bool {
    let needed = usize::try_from(thresholds.stalled_rounds).unwrap_or(usize::MAX);
    let is_still = |metrics: &&Metrics| is_below(metrics, thresholds.stalled);
    history.iter().rev().take(needed).filter(is_still).count() == needed
}

fn warnings(history: &[Metrics], thresholds: &Thresholds) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let [.., last] = history else {
        return warnings;
    };
    let Some(now) = last.similarity else {
        return warnings;
    };
    if exact(now.scaled) > thresholds.early_similarity && last.round <= thresholds.early_round {
        warnings.push(Warning::EarlyConsensus);
    }
    let before = history.iter().rev().nth(1).and_then(|it| it.similarity);
    if before.is_some_and(|before| exact(before.scaled - now.scaled) > thresholds.divergence) {
        warnings.push(Warning::Diverging);
    }
    warnings
}

/// 0.8 − 0.7 is a tenth, whatever binary fractions make of it.
fn exact(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// How far apart or together positions are, in words (E-05).
pub fn similarity_band(scaled: f64) -> &'static str {
    match exact(scaled) {
        it if it >= 0.80 => "consensus, strong agreement",
        it if it > 0.60 => "converging, much in common",
        it if it > 0.40 => "moderate disagreement, some common ground",
        _ => "strong disagreement, far apart",
    }
}

/// How much a position moved, in words (E-06).
pub fn shift_band(scaled: f64) -> &'static str {
    match exact(scaled) {
        it if it > 0.60 => "major shift",
        it if it > 0.30 => "significant update",
        it if it > 0.10 => "refinement",
        _ => "stable",
    }
}

/// How much evidence is common, in words (E-07).
pub fn evidence_band(share: f64) -> &'static str {
    match exact(share) {
        it if it >= 0.60 => "strong agreement",
        it if it > 0.30 => "some overlap",
        _ => "different evidence",
    }
}

/// How one seat moved since it spoke last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Movement {
    /// As measured, raw and scaled.
    pub shift: Option<Similarity>,
    /// Another answer, or the same words for the opposite.
    pub turned: bool,
}

/// Whether a move is accounted for (E-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Explanation {
    /// It did not move, or hardly.
    NotNeeded,
    /// The claims and evidence that moved it, which were not there when it spoke last.
    By(Vec<String>),
    Unexplained,
}

/// `named` are the ids a seat says it was moved by; only what it could not have known before explains anything.
pub fn explanation(
    movement: &Movement,
    named: &[String],
    is_new: impl Fn(&str) -> bool,
    thresholds: &Thresholds,
) -> Explanation {
    let shift = movement.shift.map(|shift| exact(shift.scaled));
    let has_moved = movement.turned || shift.is_some_and(|shift| shift > thresholds.settled);
    if !has_moved {
        return Explanation::NotNeeded;
    }
    let mut by: Vec<String> = Vec::new();
    for id in named {
        if is_new(id) && !by.contains(id) {
            by.push(id.clone());
        }
    }
    if by.is_empty() {
        Explanation::Unexplained
    } else {
        Explanation::By(by)
    }
}

#[cfg(test)]
#[path = "convergence_tests.rs"]
mod tests;
