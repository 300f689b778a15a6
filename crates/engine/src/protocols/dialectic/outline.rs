//! The calls that a dialectic will make.

use roundtable_core::estimate::{Outline, PlannedCall, Stage};

use super::Rules;
use crate::event::Setup;

/// The skeptic may be ready after the first round; usually the minimum of rounds is played.
pub(super) fn outline(rules: &Rules, _: &Setup) -> Outline {
    Outline {
        least: stages(rules, 1),
        likely: stages(rules, rules.min_rounds),
    }
}

fn stages(rules: &Rules, rounds: u32) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut turns = 0;
    let mut add = |seat: &str, reads: usize| stages.push(vec![PlannedCall::new(seat, reads)]);
    for round in 1..=rounds {
        // A revision reads the last answer and its critique, a review everything. An answer of the caller takes the place of
        // the first one.
        if round > 1 || rules.my_answer.is_none() {
            add("proposer", if round == 1 { 0 } else { 2 });
        }
        add("skeptic", turns + 1);
        turns += 2;
    }
    add("synthesizer", turns);
    if rules.auto_score {
        add("judge", 1);
    }
    stages
}
