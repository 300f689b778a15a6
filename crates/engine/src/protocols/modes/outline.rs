//! The calls that a debate in one of the modes will make.

use roundtable_core::estimate::{Outline, PlannedCall, Stage};

use super::{Debate, Rules};
use crate::event::Setup;
use crate::mode::SpeakingOrder;

/// A panel may agree after the first round; usually it takes two.
const USUAL_ROUNDS: u32 = 2;

pub(super) fn outline(rules: &Rules, setup: &Setup) -> Outline {
    Outline {
        least: stages(rules, setup, 1),
        likely: stages(rules, setup, rules.max_rounds.min(USUAL_ROUNDS)),
    }
}

fn stages(rules: &Rules, setup: &Setup, rounds: u32) -> Vec<Stage> {
    let debate = Debate::new(setup, rules);
    let panel = &debate.panel;
    let order = rules.order();
    let mut stages: Vec<Stage> = Vec::new();
    let mut turns = 0;
    for round in 1..=rounds {
        for group in panel.groups(order) {
            // Older rounds are summarised.
            let reads = turns.min(2 * panel.seats.len());
            stages.push(
                group
                    .iter()
                    .map(|seat| PlannedCall::new(seat, reads))
                    .collect(),
            );
            turns += group.len();
        }
        if round == 1 && order != SpeakingOrder::Parallel {
            let ballots = panel.names();
            let ballots = ballots.iter().map(|seat| PlannedCall::new(seat, 0));
            stages[0].extend(ballots);
        }
        // The evaluation ends with the first clear round.
        if round == 1 && debate.is_watched {
            let evaluator = panel.evaluator.iter();
            stages.push(
                evaluator
                    .map(|seat| PlannedCall::new(seat, panel.seats.len()))
                    .collect(),
            );
        }
    }
    let chair = panel.chair.iter();
    stages.push(chair.map(|seat| PlannedCall::new(seat, turns)).collect());
    stages.retain(|stage| !stage.is_empty());
    stages
}
