//! Which rounds paid: whether a later round brought up anything that turned out right.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Weighed;
use super::beta::{Estimate, posterior};
use super::learned::RoundAdvice;
use super::lesson::Lesson;
use super::skills::SkillRecord;

/// With fewer projects nothing is said about how many rounds are enough.
const LEAST_PROJECTS: usize = 3;
/// A round pays where it does so in at least every other project.
const PAYS: f64 = 0.5;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundYield {
    pub round: u32,
    pub played: usize,
    /// In how many of them it brought up something that turned out right.
    pub paid: usize,
    pub right: usize,
    pub wrong: usize,
    pub share: Estimate,
}

pub(super) fn yields(weighed: &[Weighed<'_>]) -> Vec<RoundYield> {
    let mut rounds: BTreeMap<u32, Vec<(usize, usize, f64)>> = BTreeMap::new();
    for it in weighed {
        for round in &it.lesson.rounds {
            let seen = rounds.entry(round.round).or_default();
            seen.push((round.right, round.wrong, it.count));
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
                paid: seen.iter().filter(|it| it.0 > 0).count(),
                right: seen.iter().map(|it| it.0).sum(),
                wrong: seen.iter().map(|it| it.1).sum(),
                // Flat: nothing is known of a round before it was played.
                share: posterior(0.5, 2.0, &shares),
            }
        })
        .collect()
}

/// How many rounds such debates are worth, once there are projects enough to say so.
pub(super) fn advice(
    rounds: &[RoundYield],
    skills: &[SkillRecord],
    lessons: &[Lesson],
) -> Option<RoundAdvice> {
    let played = rounds.iter().map(|it| it.played).max().unwrap_or(0);
    if played < LEAST_PROJECTS {
        return None;
    }
    let paying = rounds
        .iter()
        .filter(|it| it.played >= LEAST_PROJECTS && it.share.mean >= PAYS);
    let enough = paying.map(|it| it.round).max().unwrap_or(1);
    let gaps = lessons.iter().filter(|it| {
        it.consensus_reached && it.decision_accuracy.is_some_and(|it| it.value() < 1.0)
    });
    let gaps = gaps.count();
    // Agreement that was wrong somewhere is not mended by more of the same voices.
    let skill = skills
        .first()
        .filter(|_| gaps * 2 >= lessons.len() && gaps > 0);
    Some(RoundAdvice {
        enough,
        projects: played,
        instead: skill.map(|it| it.skill.clone()),
    })
}
