//! Dimensions on which the judges disagree, with every position, and those on which they agree (T-06).

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::Agreement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replies::{Critique, Ruling};
use super::scorecard::DimensionResult;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disagreement {
    pub id: String,
    pub council: String,
    pub dimension: String,
    pub title: String,
    pub points: f64,
    pub severity: DisagreementSeverity,
    /// The weighted mean.
    pub consensus: Option<OutOfHundred>,
    /// All judges of the dimension, from the lowest score to the highest.
    pub positions: Vec<PositionResult>,
    /// The critic's answer.
    pub critic: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisagreementSeverity {
    /// More than 20 points.
    Ordinary,
    /// More than 30 points: the critic must answer it.
    High,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PositionResult {
    pub judge: String,
    pub score: OutOfHundred,
    pub reasoning: String,
    pub evidence: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgreementResult {
    pub council: String,
    pub dimension: String,
    pub title: String,
    pub points: f64,
    pub judges: usize,
    pub score: Option<OutOfHundred>,
}

impl Disagreement {
    pub(super) fn is_severe(&self) -> bool {
        self.severity == DisagreementSeverity::High
    }
}

/// All disagreements of all councils, numbered in the order of the cast (T-06).
pub(super) fn disagreements(
    scorecards: &[Vec<DimensionResult>],
    critique: Option<&Critique>,
) -> Vec<Disagreement> {
    let rulings: &[Ruling] = critique.map_or(&[], |critique| &critique.disagreements);
    let apart = scorecards.iter().flatten().filter_map(|result| {
        let spread = result.spread.as_ref()?;
        spread
            .agreement
            .is_disagreement()
            .then_some((result, spread))
    });
    apart
        .enumerate()
        .map(|(index, (result, spread))| {
            let id = format!("D{}", index + 1);
            let ruling = rulings
                .iter()
                .find(|ruling| ruling.disagreement.trim().eq_ignore_ascii_case(&id));
            Disagreement {
                council: result.council.clone(),
                dimension: result.dimension.clone(),
                title: result.title.clone(),
                points: spread.points,
                severity: if spread.agreement == Agreement::SevereDisagreement {
                    DisagreementSeverity::High
                } else {
                    DisagreementSeverity::Ordinary
                },
                consensus: result.consensus.as_ref().map(|consensus| consensus.score),
                positions: positions(result),
                critic: ruling.map(|ruling| ruling.answer.clone()),
                id,
            }
        })
        .collect()
}

fn positions(result: &DimensionResult) -> Vec<PositionResult> {
    let judges = result.judges.iter();
    let mut positions: Vec<_> = judges
        .filter_map(|judge| {
            Some(PositionResult {
                judge: judge.judge.clone(),
                score: judge.last()?,
                reasoning: judge.reasoning.clone(),
                evidence: judge.evidence.clone(),
            })
        })
        .collect();
    positions.sort_by(|a, b| a.score.value().total_cmp(&b.score.value()));
    positions
}

pub(super) fn agreements(dimensions: &[DimensionResult]) -> Vec<AgreementResult> {
    let agreed = dimensions.iter().filter_map(|result| {
        let spread = result.spread.as_ref()?;
        (spread.agreement == Agreement::HighConfidence).then_some((result, spread))
    });
    agreed
        .map(|(result, spread)| AgreementResult {
            council: result.council.clone(),
            dimension: result.dimension.clone(),
            title: result.title.clone(),
            points: spread.points,
            judges: result.judges.len(),
            score: result.final_score,
        })
        .collect()
}
