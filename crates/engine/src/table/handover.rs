//! A version of the program that cannot replay an unfinished debate leaves it to the one that can, and notes that in the journal.

use serde::{Deserialize, Serialize};

use super::person::append_one;
use crate::event::{Entry, Event, Millis};
use crate::journal::{Journal, JournalError};

const KEY: &str = "left-alone/";

/// A version that left a debate alone, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftAlone {
    /// The version that cannot continue the debate.
    pub program: String,
    pub reason: String,
}

impl LeftAlone {
    /// For people. `started_by` is the version that opened the debate.
    pub fn sentence(&self, started_by: &str) -> String {
        let Self { program, reason } = self;
        format!(
            "Version {program} cannot continue this debate: {reason}. It waits for the version and the prompts that it has run \
             with; version {started_by} started it."
        )
    }
}

/// Notes that this version cannot continue the debate, unless that is known. The caller must be the only writer of this journal.
///
/// # Errors
/// [`JournalError`] if the journal cannot be read or written.
pub async fn note_left_alone(
    journal: &dyn Journal,
    now: Millis,
    left: &LeftAlone,
) -> Result<(), JournalError> {
    let entries = journal.load().await?;
    if entries.is_empty() || left_alone(&entries).contains(left) {
        return Ok(());
    }
    let next = entries.last().map_or(1, |last| last.seq + 1);
    let note = Event::Noted {
        key: format!("{KEY}{next}"),
        value: serde_json::json!(left),
        started_at: now,
    };
    append_one(journal, &entries, now, note).await
}

/// The versions that left the debate alone since it was last continued or ended.
pub fn left_alone(entries: &[Entry]) -> Vec<LeftAlone> {
    let mut left = Vec::new();
    for entry in entries {
        match &entry.event {
            Event::Noted { key, value, .. } if key.starts_with(KEY) => {
                left.extend(LeftAlone::deserialize(value).ok());
            }
            Event::StepFinished(_) | Event::StepFailed(_) | Event::Ended(_) => left.clear(),
            _ => {}
        }
    }
    left
}
