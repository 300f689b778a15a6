//! When a panel agrees too easily (M-08). Either trigger makes it play a critical-objection round; a person is asked only
//! where that round came to nothing.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::spread;
use crate::votes::Figures;
use crate::wording::jaccard;

/// The thresholds of the design.
pub const LITTLE_CHANGE: f64 = 0.10;
pub const NARROW: f64 = 0.15;
pub const HIGH_CONFIDENCE: f64 = 0.85;
pub const EARLY: u32 = 2;
pub const FEW_SOURCES: usize = 3;
pub const LARGE_OVERLAP: f64 = 0.70;
pub const FEW_CLUSTERS: usize = 2;
pub const UNSHAKEN: f64 = 0.80;
pub const UNMOVED: f64 = 0.05;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "trigger")]
pub enum Trigger {
    /// Two rounds running nothing moved.
    Stagnation,
    /// Nearly all were sure at once, and not for different reasons.
    EarlyConvergence { gates: Vec<Gate> },
}

/// Why a panel that converged early is not diverse enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    FewSources,
    PremiseOverlap,
    FewClusters,
}

impl Gate {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::FewSources => "fewer than 3 sources are cited",
            Self::PremiseOverlap => "they rest on the same premises",
            Self::FewClusters => "their positions are all of one kind",
        }
    }
}

impl Trigger {
    pub fn reason(&self) -> String {
        match self {
            Self::Stagnation => {
                "two rounds running there was less than one new FACT a seat, confidence moved by 10% at most, and all \
                 stand close together"
                    .to_owned()
            }
            Self::EarlyConvergence { gates } => {
                let reasons: Vec<_> = gates.iter().map(|gate| gate.reason()).collect();
                format!(
                    "at least 75% were sure (0.85 or more) by round 2, and {}",
                    reasons.join(", ")
                )
            }
        }
    }
}

/// How different the seats are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Diversity {
    pub sources: usize,
    pub premise_overlap: f64,
    pub clusters: usize,
}

/// Mean overlap of the premises of each two seats.
pub fn premise_overlap(premises: &[BTreeSet<String>]) -> f64 {
    let pairs = premises.iter().enumerate().flat_map(|(index, a)| {
        let later = premises.iter().skip(index + 1);
        later.map(move |b| jaccard(a, b))
    });
    spread::mean(&pairs.collect::<Vec<_>>()).unwrap_or(0.0)
}

/// The first trigger, on rounds since the last critical objection.
pub fn stagnates(history: &[Figures]) -> bool {
    let [.., first, second, third] = history else {
        return false;
    };
    is_stagnant(second, first) && is_stagnant(third, second)
}

fn is_stagnant(now: &Figures, before: &Figures) -> bool {
    let speakers = now.speakers().count();
    let change = now.confidence_change(before);
    speakers > 0
        && now.new_facts < speakers
        && change.is_some_and(|change| change <= LITTLE_CHANGE)
        && spread_of(now).is_some_and(|spread| spread <= NARROW)
}

/// Of stances where there are any, else of confidences.
fn spread_of(figures: &Figures) -> Option<f64> {
    let stances: Vec<f64> = figures
        .standings
        .iter()
        .filter_map(|standing| standing.stance.map(crate::stance::Stance::value))
        .collect();
    let spread = if stances.is_empty() {
        spread::deviation(&figures.confidences())
    } else {
        spread::deviation(&stances)
    };
    spread.map(|spread| (spread * 1e9).round() / 1e9)
}

/// The second trigger: which gates a panel that is sure by round 2 fails. Empty: it does not fire.
pub fn early_gates(figures: &Figures, diversity: &Diversity) -> Vec<Gate> {
    let is_sure = |confidence: &&f64| **confidence >= HIGH_CONFIDENCE;
    let confidences = figures.confidences();
    let sure = confidences.iter().filter(is_sure).count();
    // Three quarters in whole numbers.
    let is_early =
        figures.round <= EARLY && !confidences.is_empty() && sure * 4 >= confidences.len() * 3;
    if !is_early {
        return Vec::new();
    }
    [
        (Gate::FewSources, diversity.sources < FEW_SOURCES),
        (
            Gate::PremiseOverlap,
            diversity.premise_overlap >= LARGE_OVERLAP,
        ),
        (Gate::FewClusters, diversity.clusters < FEW_CLUSTERS),
    ]
    .into_iter()
    .filter(|(_, fails)| *fails)
    .map(|(gate, _)| gate)
    .collect()
}

/// Which trigger fires after the last of these rounds, if any.
pub fn after_round(history: &[Figures], diversity: &Diversity) -> Option<Trigger> {
    let last = history.last()?;
    if stagnates(history) {
        return Some(Trigger::Stagnation);
    }
    let gates = early_gates(last, diversity);
    (!gates.is_empty()).then_some(Trigger::EarlyConvergence { gates })
}

/// Whether a critical-objection round came to nothing, so that a person has to look: no new FACT, still sure, unmoved.
pub fn objection_failed(before: &Figures, after: &Figures) -> bool {
    after.new_facts == 0
        && after.mean_confidence().is_some_and(|mean| mean >= UNSHAKEN)
        && after
            .confidence_change(before)
            .is_some_and(|change| change < UNMOVED)
}

#[cfg(test)]
#[path = "groupthink_tests.rs"]
mod tests;
