//! Journaling and announcing: an event is written to the journal first, then listeners are notified.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use futures::FutureExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedMutexGuard, broadcast};

use super::write_queue::{Ack, Announcement, Append, Durability, PendingAppend};
use super::{Halt, Notice, Table, keyed};

use crate::event::{Event, Millis};
use crate::expected_usage;
use crate::journal::JournalError;

/// How often a finished step yields so that other steps that are about to finish join its batch.
const MAX_BATCH_YIELDS: usize = 8;

impl Table {
    /// Runs `find_out` once and journals its result under `key`; a replay reads it from the journal. For facts that do not
    /// come from a seat, such as a retrieval.
    ///
    /// # Errors
    /// [`Halt::Cancelled`] if the debate is cancelled meanwhile, [`Halt::Journal`] if the result cannot be written or read.
    pub async fn note<T, F>(&self, key: &str, find_out: impl FnOnce() -> F) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = T>,
    {
        if let Some(known) = self.recall_note(key) {
            return known;
        }
        self.flush().await?;
        let started_at = self.deps.clock.now();
        let found = tokio::select! {
            biased;
            () = self.deps.cancel.cancelled() => return Err(Halt::Cancelled),
            found = find_out() => found,
        };
        self.record_async(note_event(key, &found, started_at)?)
            .await?;
        Ok(found)
    }

    /// Like [`Table::note`], for a pure computation on what is in the journal. The entry is deferred: it is written and announced
    /// with the next one, and if it is lost the value is computed again.
    ///
    /// # Errors
    /// [`Halt::Journal`] if the value cannot be serialized, or the journal holds another type under `key`.
    pub fn memoize<T>(&self, key: &str, compute: impl FnOnce() -> T) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
    {
        if let Some(known) = self.recall_note(key) {
            return known;
        }
        let value = compute();
        let now = self.deps.clock.now();
        let note = note_event(key, &value, now)?;
        self.write_queue.defer_until_written(now, note);
        Ok(value)
    }

    /// Like [`Table::memoize`], but readers do not wait for the next entry.
    ///
    /// # Errors
    /// As [`Table::memoize`].
    pub fn memoize_and_announce<T>(&self, key: &str, compute: impl FnOnce() -> T) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
    {
        if let Some(known) = self.recall_note(key) {
            return known;
        }
        let value = compute();
        self.defer_and_announce(note_event(key, &value, self.deps.clock.now())?);
        Ok(value)
    }

    fn recall_note<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, Halt>> {
        let value = self.replay.note(key)?;
        let parsed = T::deserialize(value);
        Some(parsed.map_err(|error| corrupt(key, &error).into()))
    }

    /// Writes an event and returns when it is in the journal. Deferred entries are written before it.
    pub(super) async fn record(&self, event: Event) -> Result<(), JournalError> {
        self.flush().await?;
        let now = self.deps.clock.now();
        let ack = self.write_queue.push(now, event, Durability::Written);
        self.write(ack).await
    }

    /// Writes the setup and a note of its estimate, in one append.
    pub(super) async fn write_opening(&self) -> Result<(), Halt> {
        let opened = Event::Opened(Arc::new(self.setup.clone()));
        let now = self.deps.clock.now();
        let ack = self.write_queue.push(now, opened, Durability::Written);
        if let Some(estimate) = self.setup.estimate {
            self.memoize(expected_usage::KEY, || estimate)?;
        }
        Ok(self.write(ack).await?)
    }

    /// Like [`Table::record`], but if no step is in flight it returns as soon as the append has started. The next step is
    /// prepared during the write and calls [`Table::flush`] before it has any effect (C-08).
    pub(super) async fn record_async(&self, event: Event) -> Result<(), JournalError> {
        self.flush().await?;
        let now = self.deps.clock.now();
        let ack = self.write_queue.push(now, event, Durability::Queued);
        for _ in 0..MAX_BATCH_YIELDS {
            tokio::task::yield_now().await;
            if self.write_queue.is_idle() {
                break;
            }
        }
        self.write(ack).await
    }

    /// Queues the last step, so that one fsync covers it and the end. If no end follows, [`Table::flush_queue`] writes it.
    pub(super) fn record_final(&self, event: Event) {
        let now = self.deps.clock.now();
        drop(self.write_queue.push(now, event, Durability::Queued));
    }

    /// Writes a step queued by [`Table::record_final`] whose end did not follow.
    pub(crate) async fn flush_queue(&self) -> Result<(), JournalError> {
        self.flush().await?;
        if !self.write_queue.has_waiters() {
            return Ok(());
        }
        self.write_deferred().await
    }

    /// Writes everything in the queue.
    pub(super) async fn write_deferred(&self) -> Result<(), JournalError> {
        self.flush().await?;
        let writer = self.write_queue.lock_writer().await;
        let mut append = self.start_append(writer);
        let outcome = (&mut append.writing).await;
        self.finish_append(append, &outcome);
        outcome
    }

    /// Appends all queued entries, unless another step's batch already contained this one.
    async fn write(&self, mut ack: Ack) -> Result<(), JournalError> {
        let writer = tokio::select! {
            biased;
            outcome = &mut ack => return outcome.unwrap_or_else(|_| Err(write_aborted())),
            writer = self.write_queue.lock_writer() => writer,
        };
        if let Ok(outcome) = ack.try_recv() {
            return outcome;
        }
        let mut append = self.start_append(writer);
        let outcome = if self.write_queue.may_write_in_background(&append.batch) {
            let Poll::Ready(outcome) = futures::poll!(&mut append.writing) else {
                for queued in &mut append.batch {
                    if let Some(waiter) = queued.waiter.take() {
                        waiter.notify(Ok(()));
                    }
                }
                *self.write_queue.pending.lock().await = PendingAppend::Append(append);
                return Ok(());
            };
            outcome
        } else {
            (&mut append.writing).await
        };
        self.finish_append(append, &outcome);
        ack.try_recv().unwrap_or_else(|_| Err(write_aborted()))
    }

    /// Waits for an append started by [`Table::record_async`]. Must be called before anything that relies on it, such as a
    /// model call.
    pub(super) async fn flush(&self) -> Result<(), JournalError> {
        let mut pending = self.write_queue.pending.lock().await;
        match &mut *pending {
            PendingAppend::Nothing => Ok(()),
            PendingAppend::Failed(error) => Err(error.clone()),
            PendingAppend::Append(append) => {
                // If this future is dropped here, the append stays pending for the next flush.
                let outcome = (&mut append.writing).await;
                let next = match &outcome {
                    Ok(()) => PendingAppend::Nothing,
                    Err(error) => PendingAppend::Failed(error.clone()),
                };
                if let PendingAppend::Append(append) = std::mem::replace(&mut *pending, next) {
                    self.finish_append(append, &outcome);
                }
                self.announce_deferred();
                outcome
            }
        }
    }

    fn start_append(&self, writer: OwnedMutexGuard<()>) -> Append {
        let batch = self.write_queue.drain();
        let generation = self.replay.generation;
        let entries = batch
            .iter()
            .map(|queued| keyed(&queued.entry, generation))
            .collect();
        let journal = Arc::clone(&self.deps.journal);
        let writing = async move { journal.append(entries).await }.boxed();
        Append {
            writer,
            batch,
            writing,
        }
    }

    /// Notifies listeners and waiters of the outcome, then releases the writer lock.
    fn finish_append(&self, append: Append, outcome: &Result<(), JournalError>) {
        let Append { writer, batch, .. } = append;
        match outcome {
            Ok(()) => {
                for queued in batch {
                    let entry = queued.entry;
                    if queued.announcement != Announcement::Done {
                        self.notify(Notice::of(entry, true));
                    }
                    if let Some(waiter) = queued.waiter {
                        waiter.notify(Ok(()));
                    }
                }
            }
            Err(error) => self.write_queue.requeue(batch, error),
        }
        drop(writer);
    }

    fn announce_deferred(&self) {
        self.write_queue
            .announce_deferred(|entry| self.notify(Notice::of(entry, false)));
    }

    /// Queues an entry that nothing depends on and notifies listeners at once, before it is written.
    pub(super) fn defer_and_announce(&self, event: Event) {
        self.write_queue
            .defer_and_announce(self.deps.clock.now(), event);
        // While an append is pending, its entries are announced first.
        if let Ok(pending) = self.write_queue.pending.try_lock()
            && !matches!(*pending, PendingAppend::Append(_))
        {
            self.announce_deferred();
        }
    }

    /// Notifies listeners of an event that is not journaled.
    pub(super) fn announce(&self, event: Event) {
        if self.has_listeners() {
            self.notify(Notice {
                seq: None,
                is_written: false,
                at: self.deps.clock.now(),
                event,
            });
        }
    }

    fn has_listeners(&self) -> bool {
        let has_receivers = |sender: &broadcast::Sender<_>| sender.receiver_count() > 0;
        self.observer.get().is_some() || self.notices.get().is_some_and(has_receivers)
    }

    fn notify(&self, notice: Notice) {
        if !self.has_listeners() {
            return;
        }
        let notice = Arc::new(notice);
        if let Some(observer) = self.observer.get() {
            observer(&notice);
        }
        if let Some(sender) = self.notices.get() {
            // Fails only if the last receiver is gone.
            let _ = sender.send(notice);
        }
    }
}

pub(super) fn note_event(
    key: &str,
    value: &impl Serialize,
    started_at: Millis,
) -> Result<Event, JournalError> {
    let value = serde_json::to_value(value).map_err(|error| corrupt(key, &error))?;
    Ok(Event::Noted {
        key: key.to_owned(),
        value,
        started_at,
    })
}

pub(super) fn corrupt(key: &str, error: &serde_json::Error) -> JournalError {
    JournalError::Corrupt {
        detail: format!("'{key}': {error}"),
    }
}

fn write_aborted() -> JournalError {
    JournalError::Unavailable {
        detail: "the write was aborted".into(),
    }
}
