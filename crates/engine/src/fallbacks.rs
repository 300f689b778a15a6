//! Models that answered in place of those that were asked (C-07), as the journal has them: no answer passes for another's.

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Entry, Event};
use crate::report::{Block, Section, Tone};

/// A step that another model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StandIn {
    pub step: String,
    pub seat: String,
    /// Who answered, `provider:model`.
    pub model: String,
    /// Who was asked.
    pub instead_of: String,
    pub because: String,
}

/// In the order of the journal.
pub fn fallbacks(entries: &[Entry]) -> Vec<StandIn> {
    let finished = entries.iter().filter_map(|entry| match &entry.event {
        Event::StepFinished(step) => Some(step),
        Event::Opened(_)
        | Event::RoundStarted { .. }
        | Event::Noted { .. }
        | Event::StepStarted { .. }
        | Event::Chunk { .. }
        | Event::StepRestarted { .. }
        | Event::StepFailed(_)
        | Event::Ended(_)
        | Event::Reopened { .. }
        | Event::Rated { .. }
        | Event::Resolved { .. }
        | Event::Tracked { .. }
        | Event::Assessed { .. }
        | Event::Said(_)
        | Event::Asked(_)
        | Event::Decided(_) => None,
    });
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

/// Who stood in for whom, how often and why; `None` where everybody answered who was asked.
pub(crate) fn section(entries: &[Entry]) -> Option<Section> {
    let all = fallbacks(entries);
    let mut told: Vec<(&StandIn, usize)> = Vec::new();
    for it in &all {
        let known = told
            .iter_mut()
            .find(|(first, _)| (&first.model, &first.instead_of) == (&it.model, &it.instead_of));
        match known {
            Some((_, count)) => *count += 1,
            None => told.push((it, 1)),
        }
    }
    let notes = told.into_iter().map(|(first, count)| {
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
    (!notes.is_empty()).then(|| Section::main("Who answered instead", notes))
}

#[cfg(test)]
#[path = "fallbacks_tests.rs"]
mod tests;
