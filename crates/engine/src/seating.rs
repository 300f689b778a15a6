//! The model families of a debate, from the journal, for reports and records.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Entry, Seated, Setup};
use crate::report::{Block, Section, Tone};

/// The known disadvantage of copies of one model. Measured on `priorb-source/delib-ai-wisdom`: the mean of three forecasts before and
/// after the seats read each other.
const ONE_FAMILY: &str = "Models of one family tend to make the same errors: on 202 resolved questions, three families gained from \
    reading each other (Brier score 0.164 to 0.154), three copies of one model did not (0.173 to 0.177)";

/// The models of a debate with their families.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeatingRecord {
    /// How many model families have a seat.
    pub families: usize,
    /// One sentence on the families.
    pub note: String,
    pub seats: Vec<SeatModelRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeatModelRecord {
    pub seat: String,
    /// `provider:model`
    pub model: String,
    pub family: String,
    /// Why the seat has this model; `null` if the user named it.
    pub why: Option<String>,
}

/// The families of a debate. `None` for debates of earlier versions, and if the user named the models and all are of one family.
pub fn seating(setup: &Setup) -> Option<SeatingRecord> {
    let seats = setup.seats.iter().map(|seated| {
        Some(SeatModelRecord {
            seat: seated.seat.name.clone(),
            model: seated.model.clone(),
            family: seated.family.clone()?,
            why: seated.why.clone(),
        })
    });
    let seats: Vec<SeatModelRecord> = seats.collect::<Option<_>>()?;
    let families = by_family(&setup.seats);
    let is_dealt = seats.iter().any(|seat| seat.why.is_some());
    let note = match families.as_slice() {
        [] => return None,
        [_] if !is_dealt || seats.len() < 2 => return None,
        [(only, _)] => format!("All seats share one model family, {only}. {ONE_FAMILY}."),
        several => {
            let each = several
                .iter()
                .map(|(family, seats)| format!("{family} ({})", seats.join(", ")));
            let each: Vec<String> = each.collect();
            format!("{} model families: {}", several.len(), each.join("; "))
        }
    };
    Some(SeatingRecord {
        families: families.len(),
        note,
        seats,
    })
}

/// The seats of each family, in the order of the cast.
fn by_family(seats: &[Seated]) -> Vec<(&str, Vec<&str>)> {
    let mut families: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut index = BTreeMap::new();
    for seated in seats {
        let Some(family) = seated.family.as_deref() else {
            continue;
        };
        let at = *index.entry(family).or_insert_with(|| {
            families.push((family, Vec::new()));
            families.len() - 1
        });
        families[at].1.push(&seated.seat.name);
    }
    families
}

pub(crate) fn of_journal(entries: &[Entry]) -> Option<SeatingRecord> {
    seating(entries.iter().find_map(|entry| entry.event.setup())?)
}

/// The report section on the families.
pub(crate) fn section(entries: &[Entry]) -> Option<Section> {
    let seating = of_journal(entries)?;
    let tone = if seating.families == 1 {
        Tone::Quiet
    } else {
        Tone::Plain
    };
    let text = seating.note;
    Some(Section::main("Models", vec![Block::Note { text, tone }]))
}

#[cfg(test)]
#[path = "seating_tests.rs"]
mod tests;
