//! Groupthink detection (M-08). Either trigger adds a critical-objection round; a person is asked only if that round changes
//! nothing.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spread;
use crate::votes::Figures;
use crate::wording::jaccard;

/// The thresholds of the design.
pub const MAX_STAGNANT_CHANGE: f64 = 0.10;
pub const MAX_STAGNANT_SPREAD: f64 = 0.15;
pub const HIGH_CONFIDENCE: f64 = 0.85;
pub const EARLY_ROUND: u32 = 2;
pub const MIN_SOURCES: usize = 3;
pub const HIGH_PREMISE_OVERLAP: f64 = 0.70;
pub const MIN_CLUSTERS: usize = 2;
pub const FAILED_OBJECTION_CONFIDENCE: f64 = 0.80;
pub const FAILED_OBJECTION_CHANGE: f64 = 0.05;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "trigger")]
pub enum Trigger {
    /// Two rounds in a row without change.
    Stagnation,
    /// Nearly all seats were confident early, without diverse reasons.
    EarlyConvergence { gates: Vec<Gate> },
}

/// Why a panel that converged early is not diverse enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
            Self::PremiseOverlap => "the seats share the same premises",
            Self::FewClusters => "all positions are of one kind",
        }
    }
}

impl Trigger {
    pub fn reason(&self) -> String {
        match self {
            Self::Stagnation => {
                "for two rounds there was less than one new FACT per seat, beliefs changed by at most 10%, and the \
                 spread of stances or confidences was at most 0.15"
                    .to_owned()
            }
            Self::EarlyConvergence { gates } => {
                let reasons: Vec<_> = gates.iter().map(|gate| gate.reason()).collect();
                format!(
                    "at least 75% had a confidence of 0.85 or more by round 2, and {}",
                    reasons.join(", ")
                )
            }
        }
    }
}

/// How much the seats differ from each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diversity {
    pub sources: usize,
    pub premise_overlap: f64,
    pub clusters: usize,
}

/// Mean Jaccard overlap of the premises over all pairs of seats.
pub fn premise_overlap(premises: &[BTreeSet<String>]) -> f64 {
    let pairs = premises.iter().enumerate().flat_map(|(index, a)| {
        let later = premises.iter().skip(index + 1);
        later.map(move |b| jaccard(a, b))
    });
    spread::mean(&pairs.collect::<Vec<_>>()).unwrap_or(0.0)
}

/// The first trigger. `history` holds the rounds since the last critical objection.
pub fn stagnates(history: &[Figures]) -> bool {
    let [.., first, second, third] = history else {
        return false;
    };
    is_stagnant(second, first) && is_stagnant(third, second)
}

fn is_stagnant(now: &Figures, before: &Figures) -> bool {
    let speakers = now.speakers().count();
    let change = now.belief_change(before);
    speakers > 0
        && now.new_facts < speakers
        && change.is_some_and(|change| change <= MAX_STAGNANT_CHANGE)
        && spread_of(now).is_some_and(|spread| spread <= MAX_STAGNANT_SPREAD)
}

/// Standard deviation of the stances if there are any, otherwise of the confidences.
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

/// The second trigger: the diversity gates failed by a panel that is confident by round 2. It fires if any gate fails.
pub fn early_gates(figures: &Figures, diversity: &Diversity) -> Vec<Gate> {
    let is_confident = |confidence: &&f64| **confidence >= HIGH_CONFIDENCE;
    let confidences = figures.confidences();
    let confident = confidences.iter().filter(is_confident).count();
    // Three quarters in integers, without rounding.
    let is_early = figures.round <= EARLY_ROUND
        && !confidences.is_empty()
        && confident * 4 >= figures.seats() * 3;
    if !is_early {
        return Vec::new();
    }
    [
        (Gate::FewSources, diversity.sources < MIN_SOURCES),
        (
            Gate::PremiseOverlap,
            diversity.premise_overlap >= HIGH_PREMISE_OVERLAP,
        ),
        (Gate::FewClusters, diversity.clusters < MIN_CLUSTERS),
    ]
    .into_iter()
    .filter(|(_, fails)| *fails)
    .map(|(gate, _)| gate)
    .collect()
}

/// The trigger that fires after the last of these rounds, if any.
pub fn after_round(history: &[Figures], diversity: &Diversity) -> Option<Trigger> {
    let last = history.last()?;
    if stagnates(history) {
        return Some(Trigger::Stagnation);
    }
    let gates = early_gates(last, diversity);
    (!gates.is_empty()).then_some(Trigger::EarlyConvergence { gates })
}

/// Whether a critical-objection round changed nothing (no new FACT, high confidence, no movement), so that a person is asked.
pub fn objection_failed(before: &Figures, after: &Figures) -> bool {
    after.new_facts == 0
        && after
            .mean_confidence()
            .is_some_and(|mean| mean >= FAILED_OBJECTION_CONFIDENCE)
        && after
            .belief_change(before)
            .is_some_and(|change| change < FAILED_OBJECTION_CHANGE)
}

#[cfg(test)]
#[path = "groupthink_tests.rs"]
mod tests;
