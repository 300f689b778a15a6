//! The weight of each type of evidence: the posterior mean with the design's weight as prior.

use schemars::JsonSchema;
use serde::Serialize;

use super::Weighed;
use super::beta::{Estimate, posterior};
use crate::bounded::Probability;
use crate::evidence::{EvidenceType, Weights};

/// The prior counts as much as fifteen projects.
///
/// One project moves a weight by at most a sixteenth of the way to its observation (from 0.60 to 0.625 or 0.5625), ten by two
/// fifths; after fifteen, data and prior count the same. It is the only round number that reproduces the design's figures:
/// three projects in which precedents held move 0.70 to 0.75, three in which logic held by half 0.60 to 0.58; four in which
/// documents and measurements held move 0.90 to 0.92 and 0.85 to 0.88.
pub const PRIOR_PROJECTS: f64 = 15.0;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LearnedWeight {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub prior: f64,
    #[serde(flatten)]
    pub weight: Estimate,
    /// The mean of the projects alone, weighted by age; `None` if none used the type.
    pub observed: Option<f64>,
}

pub(super) fn learned(weighed: &[Weighed<'_>]) -> Vec<LearnedWeight> {
    let weights = EvidenceType::ALL.map(|kind| {
        let seen: Vec<(f64, f64)> = weighed
            .iter()
            .flat_map(|w| w.lesson.evidence.iter().map(|seen| (seen, w.count)))
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

/// The weights as debates use them.
pub(super) fn table(learned: &[LearnedWeight]) -> Weights {
    Weights::each(|kind| {
        let found = learned.iter().find(|learned| learned.kind == kind);
        let mean = found.and_then(|learned| Probability::new(learned.weight.mean).ok());
        mean.unwrap_or_else(|| kind.prior_weight())
    })
}
