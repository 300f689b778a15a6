//! How what happens at a table gets into the journal, and from there to everybody who listens.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use futures::FutureExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedMutexGuard, broadcast};

use super::write_queue::{Ack, Append, Durability, PendingAppend, Waiting};
use super::{Halt, Notice, Table, keyed};
use crate::event::{Event, Millis};
use crate::journal::JournalError;

/// How often a step that is finished lets others go first whose words have come in too.
const GATHERING: usize = 3;

impl Table {
    /// Something the program finds out by other means than asking a seat: done once, then read from the journal.
    pub async fn note<T, F>(&self, key: &str, find_out: impl FnOnce() -> F) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = T>,
    {
        if let Some(known) = self.noted(key) {
            return known;
        }
        self.flush().await?;
        let started_at = self.deps.clock.now();
        let found = tokio::select! {
            biased;
            () = self.deps.cancel.cancelled() => return Err(Halt::Cancelled),
            found = find_out() => found,
        };
        self.record_async(noting(key, &found, started_at)?).await?;
        Ok(found)
    }

    /// Something that follows from what is in the journal: it travels with the next entry, and where it got lost it is worked
    /// out again.
    pub fn memoize<T>(&self, key: &str, work: impl FnOnce() -> T) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
    {
        if let Some(known) = self.noted(key) {
            return known;
        }
        let found = work();
        self.defer_and_announce(noting(key, &found, self.deps.clock.now())?);
        Ok(found)
    }

    /// What the journal says under that key.
    fn noted<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, Halt>> {
        let value = self.replay.note(key)?;
        let read = T::deserialize(value);
        Some(read.map_err(|error| corrupt(key, &error).into()))
    }

    /// Journals first, announces after. What was deferred goes along, in its place.
    pub(super) async fn record(&self, event: Event) -> Result<(), JournalError> {
        self.flush().await?;
        let ack = self
            .write_queue
            .put(self.deps.clock.now(), event, Durability::Written);
        self.write(ack).await
    }

    /// The same, but where nobody is at work any more it does not wait: what comes next is prepared meanwhile, and waits with
    /// [`Table::flush`] before it does anything (C-08).
    pub(super) async fn record_async(&self, event: Event) -> Result<(), JournalError> {
        self.flush().await?;
        let ack = self
            .write_queue
            .put(self.deps.clock.now(), event, Durability::Queued);
        // What others have heard already is written along.
        for _ in 0..GATHERING {
            tokio::task::yield_now().await;
            if self.write_queue.is_idle() {
                break;
            }
        }
        self.write(ack).await
    }

    /// The last step: one wait for the disk does for it and the end. Where no end follows, [`Table::flush_queue`] writes it.
    pub(super) fn record_final(&self, event: Event) {
        let now = self.deps.clock.now();
        // Nobody waits for it: whoever ends the debate does.
        drop(self.write_queue.put(now, event, Durability::Queued));
    }

    /// What was to be written with an end that did not come.
    pub(crate) async fn flush_queue(&self) -> Result<(), JournalError> {
        self.flush().await?;
        let turn = self.write_queue.turn().await;
        if !self.write_queue.is_awaited() {
            return Ok(());
        }
        let mut append = self.append(turn);
        let outcome = (&mut append.writing).await;
        self.written(append, &outcome);
        outcome
    }

    /// Writes all that waits, unless somebody does.
    async fn write(&self, mut ack: Ack) -> Result<(), JournalError> {
        let turn = tokio::select! {
            biased;
            outcome = &mut ack => return outcome.unwrap_or_else(|_| Err(broken_off())),
            turn = self.write_queue.turn() => turn,
        };
        if let Ok(outcome) = ack.try_recv() {
            return outcome;
        }
        let mut append = self.append(turn);
        let outcome = if self.write_queue.may_continue(&append.all) {
            let Poll::Ready(outcome) = futures::poll!(&mut append.writing) else {
                for waiting in &mut append.all {
                    if let Some(author) = waiting.author.take() {
                        author.notify(Ok(()));
                    }
                }
                *self.write_queue.pending.lock().await = PendingAppend::Append(append);
                return Ok(());
            };
            outcome
        } else {
            (&mut append.writing).await
        };
        self.written(append, &outcome);
        // Of several, each hears it from there.
        ack.try_recv().unwrap_or_else(|_| Err(broken_off()))
    }

    /// Waits until everything that was said so far is in the journal. Nothing may rest on it before.
    pub(super) async fn flush(&self) -> Result<(), JournalError> {
        let mut pending = self.write_queue.pending.lock().await;
        match &mut *pending {
            PendingAppend::Nothing => Ok(()),
            PendingAppend::Failed(error) => Err(error.clone()),
            PendingAppend::Append(append) => {
                // Whoever goes away while waiting leaves it to the next.
                let outcome = (&mut append.writing).await;
                let next = match &outcome {
                    Ok(()) => PendingAppend::Nothing,
                    Err(error) => PendingAppend::Failed(error.clone()),
                };
                if let PendingAppend::Append(append) = std::mem::replace(&mut *pending, next) {
                    self.written(append, &outcome);
                }
                self.tell_early();
                outcome
            }
        }
    }

    /// All that waits to be written, on its way.
    fn append(&self, turn: OwnedMutexGuard<()>) -> Append {
        let all = self.write_queue.take();
        let generation = self.replay.generation;
        let entries = all.iter().map(|it| keyed(&it.entry, generation)).collect();
        let journal = Arc::clone(&self.deps.journal);
        let writing = async move { journal.append(entries).await }.boxed();
        Append { turn, all, writing }
    }

    /// Tells everybody how it went.
    fn written(&self, append: Append, outcome: &Result<(), JournalError>) {
        let Append { turn, all, .. } = append;
        match outcome {
            Ok(()) => {
                for waiting in all {
                    let Waiting { entry, author, .. } = waiting;
                    if waiting.is_unannounced {
                        self.notify(Some(entry.seq), entry.at, entry.event);
                    }
                    if let Some(author) = author {
                        author.notify(Ok(()));
                    }
                }
            }
            Err(error) => self.write_queue.put_back(all, error),
        }
        drop(turn);
    }

    fn tell_early(&self) {
        for entry in self.write_queue.unannounced() {
            self.notify(Some(entry.seq), entry.at, entry.event);
        }
    }

    /// Nothing depends on it before the next entry: it travels with that, and everyone hears of it at once.
    pub(super) fn defer_and_announce(&self, event: Event) {
        self.write_queue
            .defer_and_announce(self.deps.clock.now(), event);
        // Where a step is still being written, after it.
        if let Ok(pending) = self.write_queue.pending.try_lock()
            && !matches!(*pending, PendingAppend::Append(_))
        {
            self.tell_early();
        }
    }

    pub(super) fn announce(&self, event: Event) {
        if self.has_listeners() {
            self.notify(None, self.deps.clock.now(), event);
        }
    }

    fn has_listeners(&self) -> bool {
        let heard = |sender: &broadcast::Sender<_>| sender.receiver_count() > 0;
        self.observer.get().is_some() || self.notices.get().is_some_and(heard)
    }

    fn notify(&self, seq: Option<u64>, at: Millis, event: Event) {
        if !self.has_listeners() {
            return;
        }
        let notice = Arc::new(Notice { seq, at, event });
        if let Some(observer) = self.observer.get() {
            observer(&notice);
        }
        if let Some(sender) = self.notices.get() {
            // Nobody listening any more is no failure.
            let _ = sender.send(notice);
        }
    }
}

fn noting(key: &str, found: &impl Serialize, started_at: Millis) -> Result<Event, JournalError> {
    let value = serde_json::to_value(found).map_err(|error| corrupt(key, &error))?;
    Ok(Event::Noted {
        key: key.to_owned(),
        value,
        started_at,
    })
}

fn corrupt(key: &str, error: &serde_json::Error) -> JournalError {
    JournalError::Corrupt {
        detail: format!("'{key}': {error}"),
    }
}

fn broken_off() -> JournalError {
    JournalError::Unavailable {
        detail: "writing was broken off".into(),
    }
}
