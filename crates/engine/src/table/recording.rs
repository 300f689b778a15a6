//! How what happens at a table gets into the journal, and from there to everybody who listens.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use futures::FutureExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedMutexGuard, broadcast};

use super::pen::{Append, Needs, Told, Underway, Waiting};
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
        self.settled().await?;
        let started_at = self.kit.clock.now();
        let found = tokio::select! {
            biased;
            () = self.kit.cancel.cancelled() => return Err(Halt::Cancelled),
            found = find_out() => found,
        };
        self.record_meanwhile(noting(key, &found, started_at)?)
            .await?;
        Ok(found)
    }

    /// Something that follows from what is in the journal: it travels with the next entry, and where it got lost it is worked
    /// out again.
    pub fn work_out<T>(&self, key: &str, work: impl FnOnce() -> T) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
    {
        if let Some(known) = self.noted(key) {
            return known;
        }
        let found = work();
        self.defer_aloud(noting(key, &found, self.kit.clock.now())?);
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
        self.settled().await?;
        let told = self.pen.put(self.kit.clock.now(), event, Needs::Written);
        self.write(told).await
    }

    /// The same, but where nobody is at work any more it does not wait: what comes next is prepared meanwhile, and waits with
    /// [`Table::settled`] before it does anything (C-08).
    pub(super) async fn record_meanwhile(&self, event: Event) -> Result<(), JournalError> {
        self.settled().await?;
        let told = self.pen.put(self.kit.clock.now(), event, Needs::Underway);
        // What others have heard already is written along.
        for _ in 0..GATHERING {
            tokio::task::yield_now().await;
            if self.pen.is_idle() {
                break;
            }
        }
        self.write(told).await
    }

    /// The last step: one wait for the disk does for it and the end. Where no end follows, [`Table::write_rest`] writes it.
    pub(super) fn record_with_the_end(&self, event: Event) {
        let now = self.kit.clock.now();
        // Nobody waits for it: whoever ends the debate does.
        drop(self.pen.put(now, event, Needs::Underway));
    }

    /// What was to be written with an end that did not come.
    pub(crate) async fn write_rest(&self) -> Result<(), JournalError> {
        self.settled().await?;
        let turn = self.pen.turn().await;
        if !self.pen.is_awaited() {
            return Ok(());
        }
        let mut append = self.append(turn);
        let outcome = (&mut append.writing).await;
        self.written(append, &outcome);
        outcome
    }

    /// Writes all that waits, unless somebody does.
    async fn write(&self, mut told: Told) -> Result<(), JournalError> {
        let turn = tokio::select! {
            biased;
            outcome = &mut told => return outcome.unwrap_or_else(|_| Err(broken_off())),
            turn = self.pen.turn() => turn,
        };
        if let Ok(outcome) = told.try_recv() {
            return outcome;
        }
        let mut append = self.append(turn);
        let outcome = if self.pen.may_go_on(&append.all) {
            let Poll::Ready(outcome) = futures::poll!(&mut append.writing) else {
                for waiting in &mut append.all {
                    if let Some(author) = waiting.author.take() {
                        author.hears(Ok(()));
                    }
                }
                *self.pen.underway.lock().await = Underway::Append(append);
                return Ok(());
            };
            outcome
        } else {
            (&mut append.writing).await
        };
        self.written(append, &outcome);
        // Of several, each hears it from there.
        told.try_recv().unwrap_or_else(|_| Err(broken_off()))
    }

    /// Waits until everything that was said so far is in the journal. Nothing may rest on it before.
    pub(super) async fn settled(&self) -> Result<(), JournalError> {
        let mut underway = self.pen.underway.lock().await;
        match &mut *underway {
            Underway::Nothing => Ok(()),
            Underway::Failed(error) => Err(error.clone()),
            Underway::Append(append) => {
                // Whoever goes away while waiting leaves it to the next.
                let outcome = (&mut append.writing).await;
                let next = match &outcome {
                    Ok(()) => Underway::Nothing,
                    Err(error) => Underway::Failed(error.clone()),
                };
                if let Underway::Append(append) = std::mem::replace(&mut *underway, next) {
                    self.written(append, &outcome);
                }
                self.tell_early();
                outcome
            }
        }
    }

    /// All that waits to be written, on its way.
    fn append(&self, turn: OwnedMutexGuard<()>) -> Append {
        let all = self.pen.take();
        let generation = self.replay.generation;
        let entries = all.iter().map(|it| keyed(&it.entry, generation)).collect();
        let journal = Arc::clone(&self.kit.journal);
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
                    if waiting.is_untold {
                        self.tell(Some(entry.seq), entry.at, entry.event);
                    }
                    if let Some(author) = author {
                        author.hears(Ok(()));
                    }
                }
            }
            Err(error) => self.pen.put_back(all, error),
        }
        drop(turn);
    }

    fn tell_early(&self) {
        for entry in self.pen.untold() {
            self.tell(Some(entry.seq), entry.at, entry.event);
        }
    }

    /// Nothing depends on it before the next entry: it travels with that, and everyone hears of it at once.
    pub(super) fn defer_aloud(&self, event: Event) {
        self.pen.defer_aloud(self.kit.clock.now(), event);
        // Where a step is still being written, after it.
        if let Ok(underway) = self.pen.underway.try_lock()
            && !matches!(*underway, Underway::Append(_))
        {
            self.tell_early();
        }
    }

    pub(super) fn announce(&self, event: Event) {
        if self.has_listeners() {
            self.tell(None, self.kit.clock.now(), event);
        }
    }

    fn has_listeners(&self) -> bool {
        let heard = |sender: &broadcast::Sender<_>| sender.receiver_count() > 0;
        self.witness.get().is_some() || self.notices.get().is_some_and(heard)
    }

    fn tell(&self, seq: Option<u64>, at: Millis, event: Event) {
        if !self.has_listeners() {
            return;
        }
        let notice = Arc::new(Notice { seq, at, event });
        if let Some(witness) = self.witness.get() {
            witness(&notice);
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
