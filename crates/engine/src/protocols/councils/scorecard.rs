//! The scorecard of a council: for each dimension the judges' scores, consensus, spread, and every change with its reason.
//!
//! The arithmetic is in `roundtable_core::councils`; no model computes any of it.

use std::collections::BTreeMap;

use roundtable_core::bounded::{Confidence, OutOfHundred};
use roundtable_core::councils::{
    Component, Consensus, Limit, Measured, Move, Overall, Spread, Vote, consensus, moved, overall,
    spread, uncertainty,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::council_state::{CouncilState, JudgeState, SecondRound, is_explained};
use super::replies::{Scored, Shift};
use crate::cast::councils::CouncilsSpec;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DimensionResult {
    pub dimension: String,
    pub title: String,
    pub council: String,
    /// The weight in the overall score.
    pub weight: Option<f64>,
    pub judges: Vec<JudgeScore>,
    /// The consensus of the blind first round.
    pub blind: Option<Consensus>,
    pub blind_spread: Option<Spread>,
    /// The consensus of the last round. `null` if no judge gave a score with a confidence.
    pub consensus: Option<Consensus>,
    pub spread: Option<Spread>,
    /// The lead's change after the exchange between the councils.
    pub exchange: Option<Reasoned>,
    /// The changes by findings of the critic.
    pub moves: Vec<FindingMove>,
    pub final_score: Option<OutOfHundred>,
    /// The final score without decimals.
    pub shown: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeScore {
    pub judge: String,
    pub round_1: Option<OutOfHundred>,
    pub round_2: Option<OutOfHundred>,
    /// The confidence in the last score. `null` if none was stated: the score is then not part of the consensus.
    pub confidence: Option<Confidence>,
    #[serde(rename = "standing")]
    pub basis: ScoreBasis,
    /// Whether a changed score has a reason and a peer. `null` if the score is unchanged.
    pub is_explained: Option<bool>,
    pub evidence: String,
    pub reasoning: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Standing")]
pub enum ScoreBasis {
    /// There was no second round for this judge.
    OneRound,
    Revised,
    /// The judge read its peers and kept its score.
    Kept,
    /// The judge was absent in round 2, or left this dimension out: round 1 counts.
    RoundOneStands,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reasoned {
    #[serde(flatten)]
    pub change: Move,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingMove {
    pub finding: String,
    #[serde(flatten)]
    pub change: Move,
}

/// A rejected change of a score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    pub by: String,
    pub dimension: String,
    pub why: String,
}

/// The current scorecard of one council, and the changes its lead asked for that were rejected.
pub(super) fn scorecard(
    panel: &CouncilsSpec,
    council: &CouncilState<'_>,
) -> (Vec<DimensionResult>, Vec<Refused>) {
    let mut results: Vec<DimensionResult> = panel
        .dimensions
        .iter()
        .filter(|dimension| is_scored_by(council, &dimension.name))
        .map(|dimension| {
            let name = &dimension.name;
            let votes = |pick: fn(&JudgeState<'_>, &str) -> Option<Scored>| -> Vec<Vote> {
                let scored = council
                    .judges
                    .iter()
                    .filter(|judge| judge.spec.dimensions.contains(name));
                scored
                    .filter_map(|judge| {
                        let scored = pick(judge, name)?;
                        Some(Vote {
                            judge: judge.spec.seat.clone(),
                            score: scored.score,
                            confidence: scored.confidence.0,
                        })
                    })
                    .collect()
            };
            let first = votes(|judge, name| judge.first_score(name).cloned());
            let last = votes(|judge, name| judge.last_score(name).cloned());
            let agreed = consensus(&last);
            DimensionResult {
                dimension: name.clone(),
                title: dimension.title.clone(),
                council: council.spec.name.clone(),
                weight: dimension.weight,
                judges: judge_scores(council, name),
                blind: consensus(&first),
                blind_spread: spread(first.iter().map(|vote| (vote.judge.as_str(), vote.score))),
                spread: spread(last.iter().map(|vote| (vote.judge.as_str(), vote.score))),
                exchange: None,
                moves: Vec::new(),
                final_score: agreed.as_ref().map(|consensus| consensus.score),
                shown: agreed.as_ref().map(|consensus| consensus.score.shown()),
                consensus: agreed,
            }
        })
        .collect();
    let refused = exchange(council, &mut results);
    (results, refused)
}

fn is_scored_by(council: &CouncilState<'_>, dimension: &String) -> bool {
    let mut judges = council.spec.judges.iter();
    judges.any(|judge| judge.is_scored() && judge.dimensions.contains(dimension))
}

/// A judge's scores on one of its dimensions, by round.
pub(super) fn judge_score(
    judge: &JudgeState<'_>,
    peers: &[&str],
    name: &str,
) -> Option<JudgeScore> {
    let last = judge.last_score(name)?;
    let (first, second) = (judge.first_score(name), judge.second_score(name));
    let is_changed = first.zip(second).is_some_and(|(a, b)| a.score != b.score);
    let revision = match &judge.second {
        SecondRound::Given(turn) => Some(&turn.reply),
        SecondRound::NotAsked | SecondRound::Absent => None,
    };
    let explained = revision.map(|reply| is_explained(reply, name, peers));
    Some(JudgeScore {
        judge: judge.spec.seat.clone(),
        round_1: first.map(|scored| scored.score),
        round_2: second.map(|scored| scored.score),
        confidence: last.confidence.0,
        basis: match (&judge.second, second) {
            (SecondRound::NotAsked, _) => ScoreBasis::OneRound,
            (SecondRound::Given(_), Some(_)) if is_changed => ScoreBasis::Revised,
            (SecondRound::Given(_), Some(_)) => ScoreBasis::Kept,
            (SecondRound::Given(_) | SecondRound::Absent, _) => ScoreBasis::RoundOneStands,
        },
        is_explained: explained.filter(|_| is_changed),
        evidence: last.evidence.clone(),
        reasoning: last.reasoning.clone(),
    })
}

pub(super) fn judge_scores(council: &CouncilState<'_>, name: &str) -> Vec<JudgeScore> {
    let names: Vec<&str> = council
        .present()
        .map(|judge| judge.spec.seat.as_str())
        .collect();
    let judges = council.judges.iter();
    let judging = judges.filter(|judge| judge.spec.dimensions.iter().any(|own| own == name));
    judging
        .filter_map(|judge| judge_score(judge, &names, name))
        .collect()
}

/// Applies the lead's changes after the exchange, within the limit (T-08).
fn exchange(council: &CouncilState<'_>, results: &mut [DimensionResult]) -> Vec<Refused> {
    let mut refused = Vec::new();
    let changes = council.response.iter().flat_map(|turn| &turn.reply.changes);
    for change in changes {
        let result = results
            .iter_mut()
            .find(|result| result.dimension == change.dimension);
        if let Err(why) = shift(result, change) {
            refused.push(Refused {
                by: council.spec.lead.clone(),
                dimension: change.dimension.clone(),
                why,
            });
        }
    }
    refused
}

fn shift(result: Option<&mut DimensionResult>, wanted: &Shift) -> Result<(), String> {
    let result = result.ok_or("it is no dimension of this council")?;
    let to = wanted
        .to
        .0
        .ok_or("it can only become a score from 0 to 100")?;
    if wanted.reason.trim().is_empty() {
        return Err("it has no reason".into());
    }
    let from = result.final_score.ok_or("it has no consensus to move")?;
    if result.exchange.is_some() {
        return Err("it was changed already".into());
    }
    let change = moved(from, to, Limit::Exchange).map_err(|error| error.to_string())?;
    result.exchange = Some(Reasoned {
        change,
        reason: wanted.reason.clone(),
    });
    result.final_score = Some(to);
    result.shown = Some(to.shown());
    Ok(())
}

/// The messages about changes in a response that cannot be made.
pub(super) fn faults_of_changes(results: &[DimensionResult], changes: &[Shift]) -> Vec<String> {
    let mut open = results.to_vec();
    changes
        .iter()
        .filter_map(|change| {
            let name = &change.dimension;
            let result = open.iter_mut().find(|result| result.dimension == *name);
            let error = shift(result, change).err()?;
            Some(format!("'{name}' cannot be changed like that: {error}."))
        })
        .collect()
}

/// The final scores by dimension.
pub(super) fn finals(results: &[DimensionResult]) -> BTreeMap<String, OutOfHundred> {
    let scored = results.iter();
    scored
        .filter_map(|result| Some((result.dimension.clone(), result.final_score?)))
        .collect()
}

/// The overall score of the scores that `pick` returns.
pub(super) fn overall_of(
    panel: &CouncilsSpec,
    results: &[DimensionResult],
    pick: impl Fn(&DimensionResult) -> Option<OutOfHundred>,
) -> Option<Overall> {
    let components: Vec<Component> = panel
        .dimensions
        .iter()
        .filter_map(|dimension| {
            let found = results
                .iter()
                .find(|result| result.dimension == dimension.name);
            Some(Component {
                dimension: dimension.name.clone(),
                weight: dimension.weight?,
                score: found.and_then(&pick),
            })
        })
        .collect();
    overall(&components)
}

/// One standard error of the overall score, from the spread between judges of the same dimension.
pub(super) fn uncertainty_of(results: &[DimensionResult], overall: &Overall) -> Option<f64> {
    let measured: Vec<Measured> = results
        .iter()
        .map(|result| {
            let component = overall
                .components
                .iter()
                .find(|component| component.dimension == result.dimension);
            let counted = result
                .judges
                .iter()
                .filter(|judge| judge.confidence.is_some());
            Measured {
                share: component.map_or(0.0, |component| component.share),
                scores: counted.filter_map(JudgeScore::last).collect(),
            }
        })
        .collect();
    uncertainty(&measured)
}

impl JudgeScore {
    pub fn last(&self) -> Option<OutOfHundred> {
        self.round_2.or(self.round_1)
    }
}
