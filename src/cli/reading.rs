//! A stored debate as commands read it: its transcript and its report for people, its protocol's record for programs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures::future::BoxFuture;
use futures::{FutureExt, poll};
use roundtable_engine::event::{Entry, Event, Millis};
use roundtable_engine::journal::{Journal, JournalError, Keyed};
use roundtable_engine::protocols;
use roundtable_engine::report::Report;
use roundtable_engine::transcript::Transcript;
use serde_json::Value;
use uuid::Uuid;

use crate::clock;
use crate::store::{DebateRow, Store};

use crate::failure::Failure;

pub(crate) struct Reading {
    pub transcript: Transcript,
    pub report: Report,
    created_at: Millis,
    entries: Vec<Entry>,
}

impl Reading {
    pub(crate) async fn of(store: &Store, row: &DebateRow) -> Result<Self, Failure> {
        let entries = store.entries(row.id).await?;
        Self::from(row.id, row.created_at, entries)
    }

    pub(crate) fn from(id: Uuid, created_at: Millis, entries: Vec<Entry>) -> Result<Self, Failure> {
        let Some(transcript) = Transcript::of(&id.to_string(), &entries) else {
            return Err(Failure::other(format!(
                "debate {id} was created but has nothing in its journal yet; `roundtable resume {id}` starts it"
            )));
        };
        if protocols::named(&transcript.protocol).is_none() {
            return Err(Failure::other(format!(
                "this version does not know the protocol '{}'",
                transcript.protocol
            )));
        }
        Ok(Self {
            transcript,
            report: protocols::report(&entries),
            created_at,
            entries,
        })
    }

    /// What programs get.
    pub(crate) fn record(&self) -> Value {
        let opened = clock::stamp(self.created_at);
        protocols::record(&self.transcript.id, opened, &self.entries).unwrap_or_default()
    }
}

/// A journal that remembers what went through it, so that nobody has to read it again.
pub(crate) struct RecordingJournal {
    id: Uuid,
    created_at: Millis,
    journal: Arc<dyn Journal>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    entries: Vec<Entry>,
    /// The debate with its end, read while that was being written.
    reading: Option<Reading>,
}

impl RecordingJournal {
    pub(crate) fn new(id: Uuid, created_at: Millis, journal: Arc<dyn Journal>) -> Self {
        Self {
            id,
            created_at,
            journal,
            memory: Mutex::default(),
        }
    }

    /// All that the journal holds. It is empty afterwards.
    pub(crate) fn take(&self) -> Result<Reading, Failure> {
        let memory = std::mem::take(&mut *self.memory());
        let reading = memory.reading;
        reading.map_or_else(|| self.reading(memory.entries), Ok)
    }

    fn reading(&self, entries: Vec<Entry>) -> Result<Reading, Failure> {
        Reading::from(self.id, self.created_at, entries)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk takes its time; what is shown afterwards is made ready meanwhile.
    fn read_ahead(&self, copies: &[Entry]) -> Option<Reading> {
        let ends = matches!(copies.last()?.event, Event::Ended(_));
        let entries = || [&self.memory().entries, copies].concat();
        ends.then(|| self.reading(entries()).ok())?
    }
}

impl Journal for RecordingJournal {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        let copies: Vec<Entry> = entries.iter().map(|keyed| keyed.entry.clone()).collect();
        async move {
            let mut writing = self.journal.append(entries);
            let mut reading = None;
            let written = match poll!(&mut writing) {
                Poll::Ready(written) => written,
                Poll::Pending => {
                    reading = self.read_ahead(&copies);
                    writing.await
                }
            };
            written?;
            let mut memory = self.memory();
            memory.entries.extend(copies);
            memory.reading = reading;
            Ok(())
        }
        .boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        async move {
            let entries = self.journal.load().await?;
            self.memory().entries.clone_from(&entries);
            Ok(entries)
        }
        .boxed()
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
