//! Reads turns back from finished steps, so that one fold serves the live debate and its journal.

use serde::de::DeserializeOwned;

use crate::event::FinishedStep;
use crate::table::Turn;

/// The last part of the step's position: `review` in `r2/skeptic/review`.
pub(super) fn verb(step: &FinishedStep) -> &str {
    step.call.step.rsplit('/').next().unwrap_or_default()
}

/// The turn as the live debate had it. `None` if the reply is of another type.
pub(super) fn turn<T: DeserializeOwned>(step: &FinishedStep) -> Option<Turn<T>> {
    Some(Turn {
        reply: T::deserialize(&step.reply).ok()?,
        text: step.text.clone(),
        remarks: step.remarks.clone(),
        withheld: step.withheld.clone(),
        spent: step.call.spent,
    })
}
