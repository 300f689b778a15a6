//! Turns that the safety evaluator withheld (M-09). The journal keeps their text, because a replay needs it; no surface shows it
//! once the evaluation is journaled.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::event::{Event, FinishedStep};

/// Takes the place of a withheld text.
pub const NOTICE: &str = "[withheld by the safety evaluator]";

/// The steps that the evaluations among these events withhold.
pub fn steps<'a>(events: impl IntoIterator<Item = &'a Event>) -> BTreeSet<String> {
    let finished = events.into_iter().filter_map(Event::finished);
    finished.flat_map(|step| withheld_by(step)).collect()
}

/// The steps that an evaluation withholds; empty for other steps.
fn withheld_by(step: &FinishedStep) -> Vec<String> {
    let is_evaluation = step.call.step.ends_with("/evaluate");
    if !is_evaluation || step.reply["risk"] != "harmful" {
        return Vec::new();
    }
    let seats = step.reply["withhold"].as_array().into_iter().flatten();
    seats
        .filter_map(Value::as_str)
        .map(|seat| format!("r{}/{seat}/speak", step.call.round))
        .collect()
}

/// The event without its text, if its step is withheld.
pub fn redacted(event: &Event, withheld: &BTreeSet<String>) -> Option<Event> {
    let step = event.finished()?;
    withheld.contains(&step.call.step).then(|| {
        Event::StepFinished(Arc::new(FinishedStep {
            reply: Value::Null,
            text: NOTICE.to_owned(),
            remarks: Vec::new(),
            ..FinishedStep::clone(step)
        }))
    })
}
