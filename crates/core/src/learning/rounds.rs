//! Which rounds were productive, that is, raised something that turned out right.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::Weighed;
use super::beta::{Estimate, posterior};
use super::learned::RoundAdvice;
use super::lesson::Lesson;
use super::skills::SkillRecord;

/// There is no advice with fewer projects.
const MIN_PROJECTS: usize = 3;
/// A round is worth playing if it was productive in at least this share of projects.
const MIN_SHARE: f64 = 0.5;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RoundYield {
    pub round: u32,
    pub played: usize,
    /// Projects in which it raised something that turned out right.
    pub paid: usize,
    pub right: usize,
    pub wrong: usize,
    pub share: Estimate,
}

pub(super) fn yields(weighed: &[Weighed<'_>]) -> Vec<RoundYield> {
    let mut rounds: BTreeMap<u32, Vec<(usize, usize, f64)>> = BTreeMap::new();
    for weighed in weighed {
        for round in &weighed.lesson.rounds {
            let seen = rounds.entry(round.round).or_default();
            seen.push((round.right, round.wrong, weighed.count));
        }
    }
    rounds
        .into_iter()
        .map(|(round, seen)| {
            let shares: Vec<(f64, f64)> = seen
                .iter()
                .map(|(right, _, count)| (f64::from(u8::from(*right > 0)), *count))
                .collect();
            RoundYield {
                round,
                played: seen.len(),
                paid: seen.iter().filter(|(right, ..)| *right > 0).count(),
                right: seen.iter().map(|(right, ..)| right).sum(),
                wrong: seen.iter().map(|(_, wrong, _)| wrong).sum(),
                // A flat prior: nothing is known of a round before it is played.
                share: posterior(0.5, 2.0, &shares),
            }
        })
        .collect()
}

/// How many rounds are worth playing in the domain; `None` with too few projects.
pub(super) fn advice(
    rounds: &[RoundYield],
    skills: &[SkillRecord],
    lessons: &[Lesson],
) -> Option<RoundAdvice> {
    let played = rounds.iter().map(|round| round.played).max().unwrap_or(0);
    if played < MIN_PROJECTS {
        return None;
    }
    let productive = rounds
        .iter()
        .filter(|round| round.played >= MIN_PROJECTS && round.share.mean >= MIN_SHARE);
    let enough = productive.map(|round| round.round).max().unwrap_or(1);
    let has_gap = |lesson: &&Lesson| {
        let accuracy = lesson.decision_accuracy;
        lesson.consensus_reached && accuracy.is_some_and(|accuracy| accuracy.value() < 1.0)
    };
    let gaps = lessons.iter().filter(has_gap).count();
    // More rounds with the same seats do not repair a consensus that was partly wrong.
    let skill = skills
        .first()
        .filter(|_| gaps * 2 >= lessons.len() && gaps > 0);
    Some(RoundAdvice {
        enough,
        projects: played,
        instead: skill.map(|record| record.skill.clone()),
    })
}
