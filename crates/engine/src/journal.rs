//! Port to the journal of one debate: append and load.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

use crate::event::Entry;

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
