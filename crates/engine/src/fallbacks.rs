//! Deviations from what was asked for, from the journal, so that reports name them: a fallback model answered (C-07), a model put the
//! seat's words into the required form (C-05), or something was replaced or left out (C-18).

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Entry, position};
use crate::report::{Block, Section, Tone};
use crate::table::left_alone;

/// A step that another model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StandIn {
    pub step: String,
    pub seat: String,
    /// The model that answered, `provider:model`.
    pub model: String,
    /// The model that was asked.
    pub instead_of: String,
    pub because: String,
}

/// All such steps, in the order of the journal.
pub fn fallbacks(entries: &[Entry]) -> Vec<StandIn> {
    let finished = entries.iter().filter_map(|entry| entry.event.finished());
    let replaced = finished.filter_map(|step| {
        let asked = step.instead_of.clone()?;
        Some(StandIn {
            step: step.call.step.clone(),
            seat: step.call.seat.clone(),
            model: step.call.model.clone(),
            instead_of: asked.model,
            because: asked.because,
        })
    });
    replaced.collect()
}

/// Replacements and omissions (C-18): before the debate began, and in its calls. Each notice once. Also which versions of the
/// program cannot continue it.
pub fn notices(entries: &[Entry]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut started_by = "";
    for entry in entries {
        if let Some(setup) = entry.event.setup() {
            started_by = &setup.program;
        }
        let at_setup = entry.event.setup().map(|setup| &setup.notices);
        let of_step = entry.event.finished().map(|step| &step.notices);
        for notice in at_setup.into_iter().chain(of_step).flatten() {
            if !all.contains(notice) {
                all.push(notice.clone());
            }
        }
    }
    let left = left_alone(entries);
    all.extend(left.iter().map(|left| left.sentence(started_by)));
    all
}

/// The report section on notices; `None` if there were none.
pub(crate) fn notices_section(entries: &[Entry]) -> Option<Section> {
    let notes = notices(entries).into_iter().map(|text| Block::Note {
        text,
        tone: Tone::Caution,
    });
    let notes: Vec<Block> = notes.collect();
    (!notes.is_empty()).then(|| Section::main("Notices", notes))
}

/// The report section on fallbacks; `None` if there were none.
pub(crate) fn section(entries: &[Entry]) -> Option<Section> {
    let all = fallbacks(entries);
    let mut pairs: Vec<(&StandIn, usize)> = Vec::new();
    for fallback in &all {
        let known = pairs.iter_mut().find(|(first, _)| {
            (&first.model, &first.instead_of) == (&fallback.model, &fallback.instead_of)
        });
        match known {
            Some((_, count)) => *count += 1,
            None => pairs.push((fallback, 1)),
        }
    }
    let notes = pairs.into_iter().map(|(first, count)| {
        let steps = if count == 1 { "step" } else { "steps" };
        let StandIn {
            step,
            model,
            instead_of,
            because,
            ..
        } = first;
        Block::Note {
            text: format!(
                "{model} answered in place of {instead_of} in {count} {steps}, first in {step}: {because}"
            ),
            tone: Tone::Caution,
        }
    });
    let notes: Vec<Block> = notes.collect();
    (!notes.is_empty()).then(|| Section::main("Fallback models", notes))
}

/// A step whose reply another model put into the required form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RescuedStep {
    pub step: String,
    pub seat: String,
    /// The model that put the seat's words into the form, `provider:model`.
    pub by: String,
}

/// All such steps, in the order of the journal.
pub fn rescued(entries: &[Entry]) -> Vec<RescuedStep> {
    let finished = entries.iter().filter_map(|entry| entry.event.finished());
    let rescued = finished.filter_map(|step| {
        Some(RescuedStep {
            step: step.call.step.clone(),
            seat: step.call.seat.clone(),
            by: step.rescued_by.clone()?,
        })
    });
    rescued.collect()
}

/// The report section on replies that were put into form; `None` if there were none.
pub(crate) fn rescued_section(entries: &[Entry]) -> Option<Section> {
    let all = rescued(entries);
    let first = all.first()?;
    let steps: Vec<String> = all.iter().map(|rescued| position(&rescued.step)).collect();
    let text = format!(
        "{} put the words of a seat into the required form, after two replies in another form: {}",
        first.by,
        steps.join(", ")
    );
    let note = Block::Note {
        text,
        tone: Tone::Caution,
    };
    Some(Section::main("Rescued replies", vec![note]))
}

#[cfg(test)]
#[path = "fallbacks_tests.rs"]
mod tests;
