//! The weight of a type of evidence: a posterior mean, with the design's weight as prior.

use serde::Serialize;

use super::Weighed;
use super::beta::{Estimate, posterior};
use crate::bounded::Probability;
use crate::evidence::{EvidenceType, Weights};

/// The prior counts as much as fifteen projects.
///
/// Chosen by what a team should feel: one project moves a weight by at most a sixteenth of the way to what it saw (from
/// 0.60 to 0.625 or 0.5625), ten by two fifths, and it takes fifteen for the world to count as much as the prior. The
/// figures of the design agree with no other round number: three projects in which precedents held take 0.70 to 0.75, and
/// three in which logic held by half 0.60 to 0.58; four in which documents and measurements held take 0.90 to 0.92 and
/// 0.85 to 0.88.
pub const PRIOR_PROJECTS: f64 = 15.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearnedWeight {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub prior: f64,
    #[serde(flatten)]
    pub weight: Estimate,
    /// What the projects alone would say, by their age; `None` where none used the type.
    pub observed: Option<f64>,
}

pub(super) fn learned(weighed: &[Weighed<'_>]) -> Vec<LearnedWeight> {
    let weights = EvidenceType::ALL.map(|kind| {
        let seen: Vec<(f64, f64)> = weighed
            .iter()
            .flat_map(|it| it.lesson.evidence.iter().map(|seen| (seen, it.count)))
            .filter(|(seen, _)| seen.kind == kind)
            .map(|(seen, count)| (seen.held.value(), count))
            .collect();
        let prior = kind.prior_weight().value();
        let weight = posterior(prior, PRIOR_PROJECTS, &seen);
        let sum: f64 = seen.iter().map(|(held, count)| held * count).sum();
        LearnedWeight {
            kind,
            prior,
            weight,
            observed: (weight.effective > 0.0).then(|| sum / weight.effective),
        }
    });
    weights.into()
}

/// As a debate counts with them.
pub(super) fn table(learned: &[LearnedWeight]) -> Weights {
    Weights::each(|kind| {
        let found = learned.iter().find(|it| it.kind == kind);
        let mean = found.and_then(|it| Probability::new(it.weight.mean).ok());
        mean.unwrap_or_else(|| kind.prior_weight())
    })
}
