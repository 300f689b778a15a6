//! The calls that a panel will make.

use roundtable_core::estimate::{Outline, PlannedCall, Stage};

use super::Rules;
use crate::cast::Part;
use crate::event::Setup;

/// If the blind answers agree and are sure, nothing follows them.
pub(super) fn outline(rules: &Rules, setup: &Setup) -> Outline {
    let of = |part: Part, reads: usize| -> Stage {
        let seats = setup.seats.iter().map(|seated| &seated.seat);
        let seats = seats.filter(|seat| seat.part == part);
        seats
            .map(|seat| PlannedCall::new(&seat.name, reads))
            .collect()
    };
    let answers = of(Part::Panel, 0);
    let count = answers.len();
    let mut likely = vec![answers];
    if rules.ranks {
        likely.push(of(Part::Panel, count.saturating_sub(1)));
    }
    likely.push(of(Part::Chair, count * likely.len()));
    Outline {
        least: likely[..if rules.full { likely.len() } else { 1 }].to_vec(),
        likely,
    }
}
