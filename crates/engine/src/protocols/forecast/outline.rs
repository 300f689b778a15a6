//! The calls that a forecast will make.

use roundtable_core::estimate::{Outline, PlannedCall, Stage};

use super::Rules;
use super::rules::argues;
use crate::cast::Duty;
use crate::event::Setup;

/// All rounds are played. A round is scored while the next one is argued.
pub(super) fn outline(rules: &Rules, setup: &Setup) -> Outline {
    let seats = || setup.seats.iter().map(|seated| &seated.seat);
    let with = |duty: Duty| seats().find(|seat| seat.duty == Some(duty));
    let scores = |count: usize| -> Stage {
        let scorer = with(Duty::Score).filter(|_| rules.is_scored);
        let scorer = scorer.into_iter();
        scorer
            .flat_map(|seat| std::iter::repeat_n(PlannedCall::new(&seat.name, 1), count))
            .collect()
    };
    let judge = with(Duty::Judge);
    let mut stages: Vec<Stage> = Vec::new();
    let mut arguments = 0;
    let mut unscored = 0;
    for round in 1..=rules.rounds {
        let speakers = seats()
            .filter(|seat| argues(seat))
            .filter(|seat| round < rules.rounds || seat.duty != Some(Duty::Judge));
        let argued: Stage = speakers
            .map(|seat| PlannedCall::new(&seat.name, 1))
            .collect();
        let count = argued.len();
        stages.push(argued.into_iter().chain(scores(unscored)).collect());
        (unscored, arguments) = (count, arguments + count);
    }
    let closing = judge.map(|judge| PlannedCall::new(&judge.name, 1));
    let has_closing = usize::from(closing.is_some());
    stages.push(closing.into_iter().chain(scores(unscored)).collect());
    stages.push(scores(has_closing));
    let synthesis =
        with(Duty::Synthesis).map(|seat| PlannedCall::new(&seat.name, arguments + has_closing));
    stages.push(synthesis.into_iter().collect());
    stages.retain(|stage| !stage.is_empty());
    Outline::fixed(stages)
}
