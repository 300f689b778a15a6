//! Convergence of a panel (E-05 … E-08, E-19, E-20): similarity of the positions, shift since the last round, shared evidence,
//! and agreement of the typed answers. After each round there is exactly one status.
//!
//! Similar wording is not agreement: similar positions with contradicting answers are not a consensus, and a position that was
//! reversed by one word has moved, however similar the two texts are.

mod answers;
mod reversal;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Level;
use crate::scale::{Scale, Similarity};
use crate::similarity::{cosine, normalise};
use crate::spread;

pub use answers::{
    Agreement, Answer, Contradiction, Group, Majority, changed_sides, groups, leading_option,
    majority, same_option,
};
pub use reversal::is_reversed;

/// The configurable thresholds of E-08.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// Minimum similarity of positions for a consensus.
    pub similarity: f64,
    /// Minimum share of common sources for strong agreement on the evidence.
    pub evidence: f64,
    /// The panel is settled if the mean shift is below this.
    pub settled: f64,
    /// A round makes no progress if the mean shift is below this.
    pub stalled: f64,
    /// Consecutive rounds without progress that count as diminishing returns.
    pub stalled_rounds: u32,
    /// A similarity above this …
    pub early_similarity: f64,
    /// … up to this round is an early consensus.
    pub early_round: u32,
    /// A drop in similarity above this is reported as divergence.
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
    #[error("invalid {name} {found}: expected a number from 0 to 1")]
    OutOfRange { name: &'static str, found: f64 },
    #[error("invalid stalled_rounds 0: expected at least 1")]
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

/// Mean pairwise cosine similarity of the positions (E-05), raw and scaled. `None` with fewer than two positions or with
/// vectors of different length.
pub fn similarity(positions: &[Vec<f32>], scale: &Scale) -> Option<Similarity> {
    let pairs: Option<Vec<f64>> = positions
        .iter()
        .enumerate()
        .flat_map(|(index, a)| positions.iter().skip(index + 1).map(move |b| (a, b)))
        .map(|(a, b)| cosine_of(a, b))
        .collect();
    // The scale was calibrated on means of rounds, so it is applied to the mean.
    spread::mean(&pairs?).map(|mean| scaled(mean, scale))
}

/// How far a seat moved (E-06): one minus the cosine similarity to its previous position, raw and scaled.
pub fn shift(before: &[f32], now: &[f32], scale: &Scale) -> Option<Similarity> {
    let alike = scaled(cosine_of(before, now)?, scale);
    Some(Similarity {
        raw: rounded(1.0 - alike.raw),
        scaled: rounded(1.0 - alike.scaled),
    })
}

fn cosine_of(a: &[f32], b: &[f32]) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    normalise(&mut a);
    normalise(&mut b);
    Some(cosine(&a, &b).clamp(-1.0, 1.0))
}

/// Applies the scale, clamped to 0 to 1.
fn scaled(raw: f64, scale: &Scale) -> Similarity {
    let similarity = scale.read(raw);
    Similarity {
        raw: rounded(similarity.raw),
        scaled: rounded(similarity.scaled.clamp(0.0, 1.0)),
    }
}

/// Sources cited by all seats over sources cited by any (E-07); 0 if there are none.
#[expect(clippy::cast_precision_loss, reason = "a debate has tens of sources")]
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

/// The measurements of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    pub round: u32,
    /// `None` without an embedder, or with fewer than two positions.
    pub similarity: Option<Similarity>,
    /// Mean over the seats with a previous position, scaled; `None` in the first round.
    pub shift: Option<f64>,
    pub evidence: f64,
    pub agreement: Agreement,
    /// Seats that reversed their position: another answer, or the same wording with the opposite meaning.
    pub turned: Vec<String>,
    /// Seats with a previous position to compare with.
    pub compared: usize,
    /// All seats of the panel, and those of them that have not spoken in any round: they do not agree.
    #[serde(default)]
    pub seats: usize,
    #[serde(default)]
    pub silent: usize,
    /// Sources cited in the round.
    #[serde(default)]
    pub sources: usize,
}

impl Metrics {
    /// Whether enough seats have spoken for a consensus: 80% of the panel, as for votes.
    fn is_quorate(&self) -> bool {
        self.seats.saturating_sub(self.silent) * 5 >= self.seats * 4
    }

    /// The share of common evidence in words (E-07).
    pub fn evidence_band(&self) -> &'static str {
        if self.sources == 0 {
            "no evidence cited"
        } else {
            evidence_band(self.evidence)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

    /// For display.
    pub const fn shown(self) -> &'static str {
        match self {
            Self::ConsensusReached => "CONSENSUS REACHED",
            Self::ConsensusWithDiverseEvidence => "CONSENSUS REACHED (diverse evidence)",
            Self::DiminishingReturns => "DIMINISHING RETURNS (human decision needed)",
            Self::Continue => "CONTINUE",
        }
    }

    /// The confidence in the outcome; `None` if the debate continues.
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

/// Reported in addition to the status.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    EarlyConsensus,
    Diverging,
}

impl Warning {
    pub const fn shown(self) -> &'static str {
        match self {
            Self::EarlyConsensus => {
                "Agreed suspiciously early: a round of objections is required before the debate can end"
            }
            Self::Diverging => "Positions diverge: further apart than in the previous round",
        }
    }
}

/// The basis of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    Measured,
    /// No embedder: positions were not compared.
    TypedAnswersAlone,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    pub status: Status,
    pub warnings: Vec<Warning>,
    pub basis: Basis,
    /// The positions are similar enough for a consensus, but the answers contradict each other (E-19).
    pub vetoed: bool,
}

/// The status after the last round, by the rules of E-08 in their order. `None` before the first round.
pub fn after_round(history: &[Metrics], thresholds: &Thresholds) -> Option<Decision> {
    let last = history.last()?;
    let basis = if last.similarity.is_some() {
        Basis::Measured
    } else {
        Basis::TypedAnswersAlone
    };
    let is_alike = is_alike(last, thresholds);
    let is_contradicted = !last.agreement.contradictions.is_empty();
    let agrees = is_alike && !is_contradicted && last.is_quorate();
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

/// By similarity if it was measured, otherwise by the typed answers.
fn is_alike(metrics: &Metrics, thresholds: &Thresholds) -> bool {
    match metrics.similarity {
        Some(similarity) => rounded(similarity.scaled) >= thresholds.similarity,
        None => metrics.agreement.is_unanimous(),
    }
}

/// A reversal counts as movement, however small the measured shift is.
fn is_below(metrics: &Metrics, limit: f64) -> bool {
    let is_small = match (metrics.similarity, metrics.shift) {
        (Some(_), Some(shift)) => rounded(shift) < limit,
        (Some(_), None) => false,
        // Without an embedder, only reversals are known.
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
    if rounded(now.scaled) > thresholds.early_similarity && last.round <= thresholds.early_round {
        warnings.push(Warning::EarlyConsensus);
    }
    let before = history
        .iter()
        .rev()
        .nth(1)
        .and_then(|round| round.similarity);
    if before.is_some_and(|before| rounded(before.scaled - now.scaled) > thresholds.divergence) {
        warnings.push(Warning::Diverging);
    }
    warnings
}

/// Removes binary rounding noise, so that 0.8 − 0.7 equals 0.1.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// The similarity of positions in words (E-05).
pub fn similarity_band(scaled: f64) -> &'static str {
    match rounded(scaled) {
        value if value >= 0.80 => "consensus, strong agreement",
        value if value > 0.60 => "converging, much in common",
        value if value > 0.40 => "moderate disagreement, some common ground",
        _ => "strong disagreement, far apart",
    }
}

/// The shift of a position in words (E-06).
pub fn shift_band(scaled: f64) -> &'static str {
    match rounded(scaled) {
        value if value > 0.60 => "major shift",
        value if value > 0.30 => "significant update",
        value if value > 0.10 => "refinement",
        _ => "stable",
    }
}

/// The share of common evidence in words (E-07).
pub fn evidence_band(share: f64) -> &'static str {
    match rounded(share) {
        value if value >= 0.60 => "strong agreement",
        value if value > 0.30 => "some overlap",
        _ => "different evidence",
    }
}

/// How a seat moved since its previous turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Movement {
    pub shift: Option<Similarity>,
    /// Another answer, or the same wording with the opposite meaning.
    pub turned: bool,
}

/// Whether a move is explained (E-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Explanation {
    /// The seat did not move, or hardly.
    NotNeeded,
    /// The claims and evidence that moved it, all newer than its previous turn.
    By(Vec<String>),
    Unexplained,
}

/// `named` are the ids that a seat gives as reasons; only items that are new since its previous turn count.
pub fn explanation(
    movement: &Movement,
    named: &[String],
    is_new: impl Fn(&str) -> bool,
    thresholds: &Thresholds,
) -> Explanation {
    let shift = movement.shift.map(|shift| rounded(shift.scaled));
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
