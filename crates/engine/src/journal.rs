//! The port to the journal of one debate: append and load, nothing else.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

use crate::event::Entry;

/// The append-only record of one debate, held by one claim. When `append` returns, the entries survive a power cut.
pub trait Journal: Send + Sync {
    /// All or nothing. `keys` are the entries' places in the debate, each used once.
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>>;

    /// All entries in the order of `seq`.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Keyed {
    pub key: String,
    pub entry: Entry,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("another process has taken this debate over")]
    Fenced,
    #[error("the journal already holds '{key}'")]
    Duplicate { key: String },
    #[error("the disk is full ({detail})")]
    Full { detail: String },
    #[error("the database cannot be written ({detail})")]
    ReadOnly { detail: String },
    #[error("the database is not available ({detail})")]
    Unavailable { detail: String },
    #[error("the journal cannot be read ({detail})")]
    Corrupt { detail: String },
}

/// A journal that forgets: for dry runs and tests of logic.
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
            let mut held = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            for new in &entries {
                if held.iter().any(|old| old.key == new.key) {
                    return Err(JournalError::Duplicate {
                        key: new.key.clone(),
                    });
                }
            }
            held.extend(entries);
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
