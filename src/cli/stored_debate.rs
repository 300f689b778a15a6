//! A debate read from its journal: transcript and report for people, the protocol's record for programs.

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
use crate::export;
use crate::failure::Failure;
use crate::store::{DebateRow, Store};

pub(crate) struct StoredDebate {
    pub transcript: Transcript,
    pub report: Report,
    created_at: Millis,
    entries: Vec<Entry>,
}

impl StoredDebate {
    pub(crate) async fn load(store: &Store, row: &DebateRow) -> Result<Self, Failure> {
        let entries = store.entries(row.id).await?;
        let mut stored = Self::from_entries(row.id, row.created_at, entries)?;
        stored.transcript = stored.transcript.shown_as(row.state);
        stored.report = stored.report.shown_as(row.state);
        Ok(stored)
    }

    pub(crate) fn from_entries(
        id: Uuid,
        created_at: Millis,
        entries: Vec<Entry>,
    ) -> Result<Self, Failure> {
        let Some(transcript) = Transcript::of(&id.to_string(), &entries) else {
            return Err(Failure::other(format!(
                "debate {id} has not started yet; start it with `roundtable resume {id}`"
            )));
        };
        if protocols::of_stored(&transcript.protocol).is_none() {
            return Err(Failure::other(format!(
                "unknown protocol '{}': debate {id} was made by another version of roundtable",
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

    /// The record that `--json` prints.
    pub(crate) fn record(&self) -> Value {
        let opened = clock::stamp(self.created_at);
        let record = protocols::record(&self.transcript.id, opened, &self.entries);
        export::shown_record(
            record.unwrap_or_default(),
            self.transcript.state,
            &self.entries,
        )
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// A journal that keeps a copy of its entries, so that the result can be shown without reading them again.
pub(crate) struct RecordingJournal {
    id: Uuid,
    created_at: Millis,
    journal: Arc<dyn Journal>,
    copy: Mutex<JournalCopy>,
}

#[derive(Default)]
struct JournalCopy {
    entries: Vec<Entry>,
    /// The finished debate, built while its last entries were being written.
    finished: Option<StoredDebate>,
}

impl RecordingJournal {
    pub(crate) fn new(id: Uuid, created_at: Millis, journal: Arc<dyn Journal>) -> Self {
        Self {
            id,
            created_at,
            journal,
            copy: Mutex::default(),
        }
    }

    /// Takes the debate out of the journal's copy.
    pub(crate) fn take(&self) -> Result<StoredDebate, Failure> {
        let JournalCopy { entries, finished } = std::mem::take(&mut *self.copy());
        finished.map_or_else(|| self.build(entries), Ok)
    }

    fn build(&self, entries: Vec<Entry>) -> Result<StoredDebate, Failure> {
        StoredDebate::from_entries(self.id, self.created_at, entries)
    }

    fn copy(&self) -> MutexGuard<'_, JournalCopy> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds the finished debate if these are its last entries.
    fn build_finished(&self, new: &[Entry]) -> Option<StoredDebate> {
        let Event::Ended(_) = new.last()?.event else {
            return None;
        };
        let entries = [&self.copy().entries, new].concat();
        self.build(entries).ok()
    }
}

impl Journal for RecordingJournal {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        let new: Vec<Entry> = entries.iter().map(|keyed| keyed.entry.clone()).collect();
        async move {
            let mut writing = self.journal.append(entries);
            let mut finished = None;
            let written = match poll!(&mut writing) {
                Poll::Ready(written) => written,
                // Uses the time of the disk write.
                Poll::Pending => {
                    finished = self.build_finished(&new);
                    writing.await
                }
            };
            written?;
            let mut copy = self.copy();
            copy.entries.extend(new);
            copy.finished = finished;
            Ok(())
        }
        .boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        async move {
            let entries = self.journal.load().await?;
            self.copy().entries.clone_from(&entries);
            Ok(entries)
        }
        .boxed()
    }
}

#[cfg(test)]
#[path = "stored_debate_tests.rs"]
mod tests;
