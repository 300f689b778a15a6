//! The score card of a council: for each dimension who gave what, what it comes to, how far they are apart, and every number that
//! was moved with its reason. The arithmetic is `roundtable_core::councils`; no model computes any of it.

use std::collections::BTreeMap;

use roundtable_core::bounded::{Confidence, OutOfHundred};
use roundtable_core::councils::{
    Component, Consensus, Limit, Measured, Move, Overall, Spread, Vote, consensus, moved, overall,
    spread, uncertainty,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::council_state::{Bench, CouncilState, Second, is_explained};
use super::replies::Scored;
use crate::cast::councils::CouncilsSpec;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DimensionResult {
    pub dimension: String,
    pub title: String,
    pub council: String,
    /// Its part in the overall score.
    pub weight: Option<f64>,
    pub judges: Vec<JudgeScore>,
    /// The consensus of the blind first round.
    pub blind: Option<Consensus>,
    pub blind_spread: Option<Spread>,
    /// The consensus of the last round. `null` where no judge gave a score with a confidence.
    pub consensus: Option<Consensus>,
    pub spread: Option<Spread>,
    /// What the exchange between the councils moved, and why.
    pub exchange: Option<Reasoned>,
    /// What findings of the critic moved.
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
    /// Of the score that counts. `null`: none was stated, and the score is left out of the consensus.
    pub confidence: Option<Confidence>,
    pub standing: Standing,
    /// Whether a changed score said why and who moved it. `null` where nothing changed.
    pub is_explained: Option<bool>,
    pub evidence: String,
    pub reasoning: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// There was no second round for this judge.
    OneRound,
    Revised,
    /// The judge was absent in round 2, or left this dimension out: its round 1 stands.
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

/// A change that a seat asked for and that was not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    pub by: String,
    pub dimension: String,
    pub why: String,
}

/// The card of one council as it now stands, and what its lead asked for in vain.
pub(super) fn card(
    panel: &CouncilsSpec,
    sitting: &CouncilState<'_>,
) -> (Vec<DimensionResult>, Vec<Refused>) {
    let mut results: Vec<DimensionResult> = panel
        .dimensions
        .iter()
        .filter(|dimension| is_scored_by(sitting, &dimension.name))
        .map(|dimension| {
            let name = &dimension.name;
            let votes = |pick: fn(&Bench<'_>, &str) -> Option<Scored>| -> Vec<Vote> {
                let scored = sitting
                    .benches
                    .iter()
                    .filter(|it| it.judge.dimensions.contains(name));
                scored
                    .filter_map(|bench| {
                        let scored = pick(bench, name)?;
                        Some(Vote {
                            judge: bench.judge.seat.clone(),
                            score: scored.score,
                            confidence: scored.confidence.0,
                        })
                    })
                    .collect()
            };
            let first = votes(|bench, name| bench.first_score(name).cloned());
            let last = votes(|bench, name| bench.last_score(name).cloned());
            let agreed = consensus(&last);
            DimensionResult {
                dimension: name.clone(),
                title: dimension.title.clone(),
                council: sitting.council.name.clone(),
                weight: dimension.weight,
                judges: judge_scores(sitting, name),
                blind: consensus(&first),
                blind_spread: spread(first.iter().map(|it| (it.judge.as_str(), it.score))),
                spread: spread(last.iter().map(|it| (it.judge.as_str(), it.score))),
                exchange: None,
                moves: Vec::new(),
                final_score: agreed.as_ref().map(|it| it.score),
                shown: agreed.as_ref().map(|it| it.score.shown()),
                consensus: agreed,
            }
        })
        .collect();
    let refused = exchange(sitting, &mut results);
    (results, refused)
}

fn is_scored_by(sitting: &CouncilState<'_>, dimension: &String) -> bool {
    let mut judges = sitting.council.judges.iter();
    judges.any(|judge| judge.is_scored() && judge.dimensions.contains(dimension))
}

/// What a judge gave on one of its dimensions, round by round.
pub(super) fn judge_score(bench: &Bench<'_>, peers: &[&str], name: &str) -> Option<JudgeScore> {
    let last = bench.last_score(name)?;
    let (first, second) = (bench.first_score(name), bench.second_score(name));
    let is_changed = first.zip(second).is_some_and(|(a, b)| a.score != b.score);
    let revision = match &bench.second {
        Second::Given(turn) => Some(&turn.reply),
        Second::NotAsked | Second::Absent => None,
    };
    let explained = revision.map(|reply| is_explained(reply, name, peers));
    Some(JudgeScore {
        judge: bench.judge.seat.clone(),
        round_1: first.map(|it| it.score),
        round_2: second.map(|it| it.score),
        confidence: last.confidence.0,
        standing: match (&bench.second, second) {
            (Second::NotAsked, _) => Standing::OneRound,
            (Second::Given(_), Some(_)) => Standing::Revised,
            (Second::Given(_) | Second::Absent, _) => Standing::RoundOneStands,
        },
        is_explained: explained.filter(|_| is_changed),
        evidence: last.evidence.clone(),
        reasoning: last.reasoning.clone(),
    })
}

pub(super) fn judge_scores(sitting: &CouncilState<'_>, name: &str) -> Vec<JudgeScore> {
    let names: Vec<&str> = sitting.present().map(|it| it.judge.seat.as_str()).collect();
    let benches = sitting.benches.iter();
    let judging = benches.filter(|it| it.judge.dimensions.iter().any(|own| own == name));
    judging
        .filter_map(|bench| judge_score(bench, &names, name))
        .collect()
}

/// Moves what the lead changed after the exchange, as far as it may (T-08).
fn exchange(sitting: &CouncilState<'_>, results: &mut [DimensionResult]) -> Vec<Refused> {
    let mut refused = Vec::new();
    let changes = sitting.response.iter().flat_map(|turn| &turn.reply.changes);
    for change in changes {
        let result = results
            .iter_mut()
            .find(|it| it.dimension == change.dimension);
        if let Err(why) = shift(result, change.to, &change.reason) {
            refused.push(Refused {
                by: sitting.council.lead.clone(),
                dimension: change.dimension.clone(),
                why,
            });
        }
    }
    refused
}

fn shift(
    result: Option<&mut DimensionResult>,
    to: OutOfHundred,
    reason: &str,
) -> Result<(), String> {
    let result = result.ok_or("it is no dimension of this council")?;
    let from = result.final_score.ok_or("it has no consensus to move")?;
    if result.exchange.is_some() {
        return Err("it was changed already".into());
    }
    let change = moved(from, to, Limit::Exchange).map_err(|error| error.to_string())?;
    result.exchange = Some(Reasoned {
        change,
        reason: reason.to_owned(),
    });
    result.final_score = Some(to);
    result.shown = Some(to.shown());
    Ok(())
}

/// What a response asks for that cannot be done, in words that its author can act on.
pub(super) fn faults_of_changes<'a>(
    results: &[DimensionResult],
    changes: impl Iterator<Item = (&'a str, OutOfHundred)>,
) -> Vec<String> {
    let mut open = results.to_vec();
    changes
        .filter_map(|(name, to)| {
            let result = open.iter_mut().find(|it| it.dimension == name);
            let error = shift(result, to, "").err()?;
            Some(format!("'{name}' cannot be changed like that: {error}."))
        })
        .collect()
}

/// The final scores by dimension.
pub(super) fn finals(results: &[DimensionResult]) -> BTreeMap<String, OutOfHundred> {
    let scored = results.iter();
    scored
        .filter_map(|it| Some((it.dimension.clone(), it.final_score?)))
        .collect()
}

/// The overall score from these results, by the scores that `pick` takes.
pub(super) fn overall_of(
    panel: &CouncilsSpec,
    results: &[DimensionResult],
    pick: impl Fn(&DimensionResult) -> Option<OutOfHundred>,
) -> Option<Overall> {
    let components: Vec<Component> = panel
        .dimensions
        .iter()
        .filter_map(|dimension| {
            let found = results.iter().find(|it| it.dimension == dimension.name);
            Some(Component {
                dimension: dimension.name.clone(),
                weight: dimension.weight?,
                score: found.and_then(&pick),
            })
        })
        .collect();
    overall(&components)
}

/// One standard error of the overall score, from how far judges of the same dimension are apart.
pub(super) fn uncertainty_of(results: &[DimensionResult], overall: &Overall) -> Option<f64> {
    let measured: Vec<Measured> = results
        .iter()
        .map(|result| {
            let part = overall
                .components
                .iter()
                .find(|it| it.dimension == result.dimension);
            let counted = result.judges.iter().filter(|it| it.confidence.is_some());
            Measured {
                share: part.map_or(0.0, |it| it.share),
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
