//! The value of another round of a forecast (B-10).

use std::collections::BTreeSet;

use roundtable_core::forecast::{Distribution, mean};
use roundtable_core::value::{self, Leading, RoundValue};

use super::debate::{Debate, distributions};
use crate::round_value;
use crate::table::{Halt, Table};

/// `None` in forecasts of earlier versions. The answer of a role is its likeliest outcome.
pub(super) fn measure(
    table: &Table,
    debate: &Debate<'_>,
    round: u32,
) -> Result<Option<RoundValue>, Halt> {
    let Some(rules) = &debate.rules().value else {
        return Ok(None);
    };
    let arguments = debate.arguments_in(round);
    let likeliest = arguments.iter().filter_map(|argument| {
        let values = argument.turn.distribution.values().iter().enumerate();
        let (index, _) = values.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)))?;
        debate.outcomes().get(index).map(String::as_str)
    });
    let leading = Leading::of(likeliest, debate.roles().len());
    let before = round
        .checked_sub(1)
        .and_then(|before| pooled(debate, before));
    let moved = before.zip(pooled(debate, round));
    let moved =
        moved.map(|(before, after)| value::squared_movement(before.values(), after.values()));
    let seats = table.setup().seats.iter();
    let families: BTreeSet<&str> = seats
        .filter_map(|seated| seated.family.as_deref())
        .collect();
    let efficiency = value::efficiency_of(families.len(), &rules.history.movements);
    let price = round_value::price_of(arguments.iter().map(|argument| &argument.turn.spent));
    let record = &rules.history.record;
    let value = leading.and_then(|leading| {
        value::of_movement(leading, record, (moved, efficiency), price, rules.max_price)
    });
    crate::protocols::note_value(table, round, value)
}

fn pooled(debate: &Debate<'_>, round: u32) -> Option<Distribution> {
    mean(&distributions(&debate.arguments_in(round))).ok()
}
