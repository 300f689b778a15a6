//! The calls that a judgement will make.

use roundtable_core::estimate::{Outline, PlannedCall, Stage};

use super::{Mode, Rules};
use crate::cast::councils::{CRITIC, ORCHESTRATOR};
use crate::event::Setup;

/// A judgement always takes the same course.
pub(super) fn outline(rules: &Rules, _: &Setup) -> Outline {
    let councils = &rules.panel.councils;
    let judges = |is_revision: bool| -> Stage {
        let councils = councils
            .iter()
            .filter(|council| !is_revision || council.judges.len() > 1);
        let calls = councils.flat_map(|council| {
            let peers = if is_revision { council.judges.len() } else { 0 };
            let judges = council.judges.iter();
            judges.map(move |judge| PlannedCall::new(&judge.seat, peers))
        });
        calls.collect()
    };
    let leads = |reads: usize| -> Stage {
        let leads = councils.iter().map(|council| &council.lead);
        leads.map(|lead| PlannedCall::new(lead, reads)).collect()
    };
    let count = councils.iter().map(|council| council.judges.len()).sum();
    let mut stages = vec![judges(false)];
    let is_full = rules.mode == Mode::Full;
    if is_full {
        stages.push(judges(true));
    }
    stages.push(leads(count));
    if is_full && councils.len() > 1 {
        stages.push(leads(councils.len()));
    }
    if rules.mode != Mode::Quick {
        stages.push(vec![PlannedCall::new(CRITIC, count)]);
    }
    stages.push(vec![PlannedCall::new(ORCHESTRATOR, count)]);
    Outline::fixed(stages)
}
