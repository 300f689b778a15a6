//! Port to the journal of one debate: append and load.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use crate::event::{Entry, Event};

/// The append-only event log of one debate, and the only source of truth about it. The caller holds the debate's lease, so
/// there is one writer. Once `append` returns `Ok`, the entries survive a power failure.
pub trait Journal: Send + Sync {
    /// Appends entries atomically. Each key names the place of an entry in the debate and may be used once.
    ///
    /// # Errors
    /// [`JournalError`]; then none of the entries is in the journal.
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>>;

    /// All entries in the order of `seq`.
    ///
    /// # Errors
    /// [`JournalError`] if the journal cannot be read.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>>;
}

/// An entry with its unique key, such as `r2/skeptic/critique`.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyed {
    pub key: String,
    pub entry: Entry,
}

/// Why a journal could not be read or written. It halts the debate, which can be resumed from what is in the journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The lease was lost: the fencing token is outdated.
    #[error("another process has taken over this debate")]
    Fenced,
    #[error("the journal already contains '{key}'")]
    Duplicate { key: String },
    #[error("the disk is full ({detail})")]
    Full { detail: String },
    #[error("the database is read-only ({detail})")]
    ReadOnly { detail: String },
    #[error("the database is not available ({detail})")]
    Unavailable { detail: String },
    #[error("the journal cannot be read ({detail})")]
    Corrupt { detail: String },
}

/// The entries that count. A debate that was reopened because of a failed step is played again from that step on, and journals
/// what it uses again; everything that it had journaled after the failure is left out here, except what a person said and
/// decided. Calls that were paid for stay, as [`Event::Superseded`].
///
/// Every fold that shows a debate reads these entries. Applying it twice changes nothing.
pub fn current(entries: &[Entry]) -> Cow<'_, [Entry]> {
    let restarts = |entry: &Entry| matches!(entry.event, Event::Reopened { from: Some(_), .. });
    if !entries.iter().any(restarts) {
        return Cow::Borrowed(entries);
    }
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Event::Reopened {
            from: Some(from), ..
        } = entry.event
        {
            let earlier = std::mem::take(&mut kept);
            kept.extend(earlier.into_iter().filter_map(|old| {
                if old.seq < from {
                    Some(old)
                } else {
                    superseded(old)
                }
            }));
        }
        kept.push(entry.clone());
    }
    Cow::Owned(kept)
}

/// The part of an entry that remains after the step at which a reopened debate starts again.
fn superseded(entry: Entry) -> Option<Entry> {
    let call = match &entry.event {
        Event::RoundStarted { .. } => return None,
        // Which words of a person a round had heard is part of what the person said.
        Event::Noted { key, .. } if !key.ends_with("/heard") => return None,
        Event::StepFinished(step) if step.reused => return None,
        Event::StepFinished(step) => step.call.clone(),
        Event::StepFailed(step) => step.call.clone(),
        _ => return Some(entry),
    };
    Some(Entry {
        event: Event::Superseded(Arc::new(call)),
        ..entry
    })
}

/// A journal in memory, for dry runs and tests.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    entries: Mutex<Vec<Keyed>>,
}

impl MemoryJournal {
    pub fn holding(entries: Vec<Keyed>) -> Self {
        Self {
            entries: Mutex::new(entries),
        }
    }

    pub fn keyed(&self) -> Vec<Keyed> {
        self.entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Journal for MemoryJournal {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            let mut stored = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            for new in &entries {
                if stored.iter().any(|old| old.key == new.key) {
                    return Err(JournalError::Duplicate {
                        key: new.key.clone(),
                    });
                }
            }
            stored.extend(entries);
            Ok(())
        })
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move { Ok(self.keyed().into_iter().map(|keyed| keyed.entry).collect()) })
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
pub(crate) mod tests;
