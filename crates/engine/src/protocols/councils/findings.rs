//! The orchestrator's answers to the critic (T-10): each finding accepted, with the number that it moves, or rejected with the
//! reason. What goes too far is not made, and what stays unanswered is shown as that.

use std::collections::BTreeMap;

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::{Limit, moved};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replies::{Answer, Category, Decision, Finding, finding_id};
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
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DimensionMove {
    pub dimension: String,
    pub from: OutOfHundred,
    pub to: OutOfHundred,
}

pub(super) struct Settled {
    pub(super) findings: Vec<AnsweredFinding>,
    /// What was moved, by dimension, in the order of the findings.
    pub(super) moves: Vec<(String, FindingMove)>,
    pub(super) faults: Vec<String>,
}

/// `standing` are the scores before any answer.
pub(super) fn settle(
    findings: &[Finding],
    answers: &[Answer],
    mut standing: BTreeMap<String, OutOfHundred>,
) -> Settled {
    let mut settled = Settled {
        findings: Vec::new(),
        moves: Vec::new(),
        faults: Vec::new(),
    };
    for (index, finding) in findings.iter().enumerate() {
        let id = finding_id(index);
        let given = answers.iter().find(|it| normal(&it.finding) == id);
        if given.is_none() {
            settled
                .faults
                .push(format!("The critic's finding {id} has no answer."));
        }
        let answer = given.map(|given| {
            let outcome = apply(finding, given, &standing);
            if let Ok(Some(it)) = &outcome {
                standing.insert(it.dimension.clone(), it.to);
                let change = roundtable_core::councils::Move {
                    from: it.from,
                    to: it.to,
                };
                let finding = id.clone();
                settled
                    .moves
                    .push((it.dimension.clone(), FindingMove { finding, change }));
            }
            let (moved, refused) = match outcome {
                Ok(moved) => (moved, None),
                Err(why) => {
                    settled.faults.push(format!("{id}: {why}"));
                    (None, Some(why))
                }
            };
            FindingAnswer {
                decision: given.decision,
                reason: given.reason.clone(),
                moved,
                refused,
            }
        });
        settled.findings.push(AnsweredFinding {
            id,
            finding: finding.clone(),
            answer,
        });
    }
    let known = |id: &str| settled.findings.iter().any(|it| it.id == normal(id));
    let unknown = answers.iter().filter(|it| !known(&it.finding));
    let unknown: Vec<_> = unknown
        .map(|it| format!("There is no finding '{}'.", it.finding))
        .collect();
    settled.faults.extend(unknown);
    settled
}

/// The number that an answer moves. An accepted finding moves one; only what is about confidence has moved the confidence already.
fn apply(
    finding: &Finding,
    answer: &Answer,
    standing: &BTreeMap<String, OutOfHundred>,
) -> Result<Option<DimensionMove>, String> {
    match (answer.decision, answer.moves.first()) {
        (Decision::Rejected, None) => Ok(None),
        (Decision::Rejected, Some(_)) => {
            Err("a rejected finding moves no number; accept it or leave 'moves' empty.".into())
        }
        (Decision::Accepted, None) if finding.category == Category::Overconfidence => Ok(None),
        (Decision::Accepted, None) => Err(
            "an accepted finding moves a number; name it in 'moves', or reject it with the reason."
                .into(),
        ),
        (Decision::Accepted, Some(wanted)) => {
            let name = &wanted.dimension;
            let from = standing.get(name);
            let from =
                *from.ok_or_else(|| format!("'{name}' has no score that could be moved."))?;
            let change = moved(from, wanted.to, Limit::Finding)
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

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
