//! Evidence for claims (E-01 … E-04): six weighted types of evidence and the confidence band that a body of evidence allows.
//!
//! Weights are always an argument, because weights learned in a domain replace the defaults. The band follows from the evidence
//! alone; a seat's stated confidence is compared with it and never changed.

mod critiques;
mod ledger;
mod sources;

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::{Confidence, Probability};
use crate::spread;

pub use critiques::{Answer, Critique, Judged, Standing, Strength, judge};
pub use ledger::{
    ClaimConfidence, Concession, Flag, Flagged, Ground, Grounding, Grounds, Heard, Ledger,
    PositionEvidence, Said, Stated,
};
pub use sources::{Cited, Registry, Source, SourceId, same_source};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum EvidenceType {
    /// A standard, specification or official document.
    Documented,
    /// A measurement, a test, data.
    Empirical,
    /// A similar project, a known pattern, a case.
    Precedent,
    /// Reasoning from first principles.
    Logical,
    /// A preference.
    Preferential,
    /// An untested guess.
    Speculative,
}

impl EvidenceType {
    /// From the strongest to the weakest.
    pub const ALL: [Self; 6] = [
        Self::Documented,
        Self::Empirical,
        Self::Precedent,
        Self::Logical,
        Self::Preferential,
        Self::Speculative,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Documented => "DOCUMENTED",
            Self::Empirical => "EMPIRICAL",
            Self::Precedent => "PRECEDENT",
            Self::Logical => "LOGICAL",
            Self::Preferential => "PREFERENTIAL",
            Self::Speculative => "SPECULATIVE",
        }
    }

    /// Parses a name, ignoring case and surrounding brackets.
    pub fn named(name: &str) -> Option<Self> {
        let name = name
            .trim_matches(|c: char| !c.is_ascii_alphabetic())
            .to_ascii_uppercase();
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A one-line description.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Documented => "documentation, a standard, a specification, an official source",
            Self::Empirical => "a measurement, a benchmark, a test, data",
            Self::Precedent => "a similar project, an established pattern, a case",
            Self::Logical => "reasoning from first principles, step by step",
            Self::Preferential => "a preference or a judgement of taste",
            Self::Speculative => "a guess that nothing backs yet",
        }
    }

    /// Whether the evidence is external to the seat that cites it.
    pub const fn has_source(self) -> bool {
        match self {
            Self::Documented | Self::Empirical | Self::Precedent => true,
            Self::Logical | Self::Preferential | Self::Speculative => false,
        }
    }

    /// The weight before anything was learned.
    pub const fn prior_weight(self) -> Probability {
        Probability::percent(match self {
            Self::Documented => 90,
            Self::Empirical => 85,
            Self::Precedent => 70,
            Self::Logical => 60,
            Self::Preferential => 40,
            Self::Speculative => 20,
        })
    }
}

impl fmt::Display for EvidenceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The weight of each type of evidence in a debate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE", deny_unknown_fields)]
pub struct Weights {
    pub documented: Probability,
    pub empirical: Probability,
    pub precedent: Probability,
    pub logical: Probability,
    pub preferential: Probability,
    pub speculative: Probability,
}

impl Default for Weights {
    fn default() -> Self {
        Self::each(EvidenceType::prior_weight)
    }
}

impl Weights {
    pub fn each(weight: impl Fn(EvidenceType) -> Probability) -> Self {
        Self {
            documented: weight(EvidenceType::Documented),
            empirical: weight(EvidenceType::Empirical),
            precedent: weight(EvidenceType::Precedent),
            logical: weight(EvidenceType::Logical),
            preferential: weight(EvidenceType::Preferential),
            speculative: weight(EvidenceType::Speculative),
        }
    }

    pub const fn of(&self, kind: EvidenceType) -> Probability {
        match kind {
            EvidenceType::Documented => self.documented,
            EvidenceType::Empirical => self.empirical,
            EvidenceType::Precedent => self.precedent,
            EvidenceType::Logical => self.logical,
            EvidenceType::Preferential => self.preferential,
            EvidenceType::Speculative => self.speculative,
        }
    }

    /// The type with the highest weight; ties go to the first in the order of [`EvidenceType::ALL`].
    pub fn strongest(&self, kinds: impl IntoIterator<Item = EvidenceType>) -> Option<EvidenceType> {
        kinds.into_iter().min_by(|a, b| {
            let by_weight = self.of(*b).value().total_cmp(&self.of(*a).value());
            by_weight.then(a.cmp(b))
        })
    }
}

/// Confidence bands (E-04).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Level {
    #[serde(rename = "HIGH")]
    High,
    #[serde(rename = "MEDIUM-HIGH")]
    MediumHigh,
    #[serde(rename = "MEDIUM")]
    Medium,
    #[serde(rename = "MEDIUM-LOW")]
    MediumLow,
    #[serde(rename = "LOW")]
    Low,
    #[serde(rename = "VERY LOW")]
    VeryLow,
}

impl Level {
    pub const ALL: [Self; 6] = [
        Self::High,
        Self::MediumHigh,
        Self::Medium,
        Self::MediumLow,
        Self::Low,
        Self::VeryLow,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "HIGH",
            Self::MediumHigh => "MEDIUM-HIGH",
            Self::Medium => "MEDIUM",
            Self::MediumLow => "MEDIUM-LOW",
            Self::Low => "LOW",
            Self::VeryLow => "VERY LOW",
        }
    }

    /// The inclusive ends of the band, in hundredths.
    const fn hundredths(self) -> (i64, i64) {
        match self {
            Self::High => (85, 95),
            Self::MediumHigh => (70, 84),
            Self::Medium => (55, 69),
            Self::MediumLow => (40, 54),
            Self::Low => (25, 39),
            Self::VeryLow => (10, 24),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "hundredths of one")]
    pub fn band(self) -> (f64, f64) {
        let (low, high) = self.hundredths();
        (low as f64 / 100.0, high as f64 / 100.0)
    }

    /// The level whose band contains the value; values outside all bands get the nearest level.
    pub fn of(value: f64) -> Self {
        let shown = hundredths(value);
        let found = Self::ALL
            .into_iter()
            .find(|level| shown >= level.hundredths().0);
        found.unwrap_or(Self::VeryLow)
    }
}

/// Rounds to the two decimals that are displayed. Bands have two decimals, so no value falls between two of them.
#[expect(
    clippy::cast_possible_truncation,
    reason = "confidences are from 0 to 1"
)]
fn hundredths(value: f64) -> i64 {
    // Round twice, so that 0.845 counts as halfway despite its binary representation.
    ((value * 1e7).round() / 1e5).round() as i64
}

/// A seat's stated confidence, compared with the band that its evidence allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calibration {
    Within,
    Overconfident,
    Underconfident,
}

impl Calibration {
    pub fn of(stated: Confidence, level: Level) -> Self {
        let (low, high) = level.hundredths();
        let shown = hundredths(stated.value());
        if shown > high {
            Self::Overconfident
        } else if shown < low {
            Self::Underconfident
        } else {
            Self::Within
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Within => "within its evidence",
            Self::Overconfident => "overconfident",
            Self::Underconfident => "underconfident",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    pub level: Level,
    /// The mean weight of the evidence that decided the level, clamped to the band.
    pub strength: f64,
}

/// The band that the evidence allows. A source counts once per type, however often it is cited.
///
/// Empirical evidence is strong while its weight reaches the MEDIUM-HIGH band; if it was learned to be weaker, it counts as a
/// precedent. A precedent without reasoning that applies it allows no more than reasoning alone.
pub fn grade(evidence: &[Ground], weights: &Weights) -> Grade {
    let of = |kind: EvidenceType| -> Vec<EvidenceType> {
        let grounds = evidence.iter().filter(|ground| ground.kind == kind);
        let sources: BTreeSet<Option<SourceId>> = grounds.map(|ground| ground.source).collect();
        vec![kind; sources.len()]
    };
    let documented = of(EvidenceType::Documented);
    let empirical = of(EvidenceType::Empirical);
    let is_strong = weights.of(EvidenceType::Empirical).value() >= Level::MediumHigh.band().0;
    let precedents: Vec<_> = of(EvidenceType::Precedent)
        .into_iter()
        .chain(empirical.iter().copied().filter(|_| !is_strong))
        .collect();
    let logical = of(EvidenceType::Logical);
    let preferential = of(EvidenceType::Preferential);
    let (level, deciding) = if documented.len() >= 2 {
        (Level::High, documented)
    } else if !documented.is_empty() || is_strong && !empirical.is_empty() {
        let strong = empirical.into_iter().filter(|_| is_strong);
        (
            Level::MediumHigh,
            documented.into_iter().chain(strong).collect(),
        )
    } else if !precedents.is_empty() && !logical.is_empty() {
        (
            Level::Medium,
            precedents.into_iter().chain(logical).collect(),
        )
    } else if !precedents.is_empty() || !logical.is_empty() {
        (
            Level::MediumLow,
            precedents.into_iter().chain(logical).collect(),
        )
    } else if preferential.is_empty() {
        (Level::VeryLow, vec![EvidenceType::Speculative])
    } else {
        (Level::Low, preferential)
    };
    let (low, high) = level.band();
    let deciding: Vec<f64> = deciding
        .into_iter()
        .map(|kind| weights.of(kind).value())
        .collect();
    let mean = spread::mean(&deciding).unwrap_or(low);
    Grade {
        level,
        strength: mean.clamp(low, high),
    }
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
