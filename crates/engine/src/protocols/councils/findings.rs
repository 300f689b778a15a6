//! The critic's findings and the orchestrator's answers (T-10): a finding is accepted and moves a score, or is rejected with a reason.
//! Moves beyond the limit are not made; unanswered findings are kept as unanswered.

use std::collections::BTreeMap;

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::{Limit, moved};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replies::{Answer, Category, Critique, Decision, Finding, Ruling, finding_id};
use super::scorecard::FindingMove;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredFinding {
    pub id: String,
    #[serde(flatten)]
    pub finding: Finding,
    /// `null`: the orchestrator was absent, or left it without an answer even after it was asked again.
    pub answer: Option<FindingAnswer>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingAnswer {
    pub decision: Decision,
    pub reason: String,
    /// The number that was moved.
    pub moved: Option<DimensionMove>,
    /// Why a number that should have been moved was not.
    pub refused: Option<String>,
    /// Why an accepted finding moves no number.
    #[serde(default)]
    pub no_move_because: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DimensionMove {
    pub dimension: String,
    pub from: OutOfHundred,
    pub to: OutOfHundred,
}

pub(super) struct ResolvedFindings {
    pub(super) findings: Vec<AnsweredFinding>,
    /// The moves by dimension, in the order of the findings.
    pub(super) moves: Vec<(String, FindingMove)>,
    pub(super) faults: Vec<String>,
}

/// Applies the answers in the order of the findings. `scores` are those before any answer.
pub(super) fn resolve_findings(
    findings: &[Finding],
    answers: &[Answer],
    mut scores: BTreeMap<String, OutOfHundred>,
) -> ResolvedFindings {
    let mut resolved = ResolvedFindings {
        findings: Vec::new(),
        moves: Vec::new(),
        faults: Vec::new(),
    };
    for (index, finding) in findings.iter().enumerate() {
        let id = finding_id(index);
        let given = answers.iter().find(|answer| normal(&answer.finding) == id);
        if given.is_none() {
            resolved
                .faults
                .push(format!("The critic's finding {id} has no answer."));
        }
        let answer = given.map(|given| {
            let outcome = apply(finding, given, &scores);
            if let Ok(Some(moved)) = &outcome {
                scores.insert(moved.dimension.clone(), moved.to);
                let change = roundtable_core::councils::Move {
                    from: moved.from,
                    to: moved.to,
                };
                let finding = id.clone();
                resolved
                    .moves
                    .push((moved.dimension.clone(), FindingMove { finding, change }));
            }
            let (moved, refused) = match outcome {
                Ok(moved) => (moved, None),
                Err(why) => {
                    resolved.faults.push(format!("{id}: {why}"));
                    (None, Some(why))
                }
            };
            let is_still = given.decision == Decision::Accepted && moved.is_none();
            FindingAnswer {
                decision: given.decision,
                reason: given.reason.clone(),
                no_move_because: no_move_because(finding, given)
                    .filter(|_| is_still && refused.is_none()),
                moved,
                refused,
            }
        });
        resolved.findings.push(AnsweredFinding {
            id,
            finding: finding.clone(),
            answer,
        });
    }
    let known = |id: &str| {
        resolved
            .findings
            .iter()
            .any(|finding| finding.id == normal(id))
    };
    let unknown = answers.iter().filter(|answer| !known(&answer.finding));
    let unknown: Vec<_> = unknown
        .map(|answer| format!("There is no finding '{}'.", answer.finding))
        .collect();
    resolved.faults.extend(unknown);
    resolved
}

/// Why no score moves. Overconfidence has lowered the confidence already.
fn no_move_because(finding: &Finding, answer: &Answer) -> Option<String> {
    let given = answer.no_move_because.trim();
    if !given.is_empty() {
        return Some(given.to_owned());
    }
    (finding.category == Category::Overconfidence)
        .then(|| "it lowers the confidence, not a score".to_owned())
}

/// The score that an answer moves. An accepted finding moves one or says why none moves (T-14).
fn apply(
    finding: &Finding,
    answer: &Answer,
    scores: &BTreeMap<String, OutOfHundred>,
) -> Result<Option<DimensionMove>, String> {
    if answer.reason.trim().is_empty() {
        return Err("the answer has no reason.".into());
    }
    match (answer.decision, answer.moves.first()) {
        (Decision::Rejected, None) => Ok(None),
        (Decision::Rejected, Some(_)) => {
            Err("a rejected finding moves no number; accept it or leave 'moves' empty.".into())
        }
        (Decision::Accepted, None) if no_move_because(finding, answer).is_some() => Ok(None),
        (Decision::Accepted, None) => Err(
            "it is accepted, but moves no number and does not say why. Name the number in 'moves', or say in 'no_move_because' why \
             none moves."
                .into(),
        ),
        (Decision::Accepted, Some(wanted)) => {
            let name = &wanted.dimension;
            let from = scores.get(name);
            let from =
                *from.ok_or_else(|| format!("'{name}' has no score that could be moved."))?;
            let to = wanted.to.0;
            let to = to.ok_or_else(|| format!("'{name}' can only become a score from 0 to 100."))?;
            let change = moved(from, to, Limit::Finding)
                .map_err(|error| format!("'{name}' {error}."))?;
            Ok(Some(DimensionMove {
                dimension: name.clone(),
                from: change.from,
                to: change.to,
            }))
        }
    }
}

/// Models write `k1` or `[K1]` for `K1`.
fn normal(id: &str) -> String {
    let id = id.trim();
    id.trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_ascii_uppercase()
}

/// A critic without findings must list what it checked; every severe disagreement needs an answer (T-06, T-10).
pub(super) fn faults_of_critique(reply: &Critique, severe: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    if reply.findings.is_empty() && reply.checked.iter().all(|check| check.trim().is_empty()) {
        faults.push("There are no findings, and 'checked' does not say what was looked at.".into());
    }
    match reply.confidence_adjustment.0 {
        None => faults.push("'confidence_adjustment' is not a number from -0.2 to +0.1.".into()),
        Some(_) if reply.adjustment_reason.trim().is_empty() => {
            faults.push("'adjustment_reason' is empty.".into());
        }
        Some(_) => {}
    }
    let texts = |finding: &Finding| {
        let texts = [&finding.about, &finding.problem, &finding.evidence];
        texts.into_iter().any(|text| text.trim().is_empty())
    };
    for (index, _) in reply.findings.iter().enumerate().filter(|(_, f)| texts(f)) {
        let id = finding_id(index);
        faults.push(format!(
            "The finding {id} lacks 'about', 'problem' or 'evidence'."
        ));
    }
    for id in severe {
        let mut answers = reply.disagreements.iter();
        let is_answer = |answer: &Ruling| {
            answer.disagreement.trim().eq_ignore_ascii_case(id) && !answer.answer.trim().is_empty()
        };
        if !answers.any(is_answer) {
            faults.push(format!(
                "The disagreement {id} is of high severity and has no answer in 'disagreements'."
            ));
        }
    }
    faults
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
