//! The end of the journal of a debate that does not run here, read from the store once for all of its readers.
//!
//! One task per debate polls the store, as long as there are readers. A reader that is behind what is in memory reads the
//! journal itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roundtable_engine::event::Entry;
use tokio::sync::watch;
use uuid::Uuid;

use super::scheduler::Scheduler;
use crate::store::{Store, StoreError};

/// How often the journal is polled if no notification announces new entries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Entries kept in memory for readers that are busy.
const MAX_RECENT: usize = 64;

/// The tails of all debates that have readers here.
#[derive(Debug, Default)]
pub(super) struct Tails {
    tails: Mutex<HashMap<Uuid, Arc<Tail>>>,
}

#[derive(Debug)]
pub(super) struct Tail {
    recent: Mutex<Recent>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Recent {
    entries: VecDeque<Arc<Entry>>,
    /// `entries` has all entries after this one.
    after: u64,
    /// The last entry that was read.
    last: u64,
    is_closed: bool,
}

impl Tails {
    /// The readers of this debate look again whether it runs here.
    pub(super) fn wake(&self, id: Uuid) {
        if let Some(tail) = self.lock().get(&id) {
            tail.changed.send_replace(());
        }
    }

    /// Whether the tail is new, so that the caller has to poll for it.
    fn join(&self, id: Uuid, after: u64) -> (Arc<Tail>, watch::Receiver<()>, bool) {
        let mut tails = self.lock();
        let known = tails.get(&id).filter(|tail| !tail.lock().is_closed);
        let is_new = known.is_none();
        let tail = known.map_or_else(|| Tail::after(after), Arc::clone);
        if is_new {
            tails.insert(id, Arc::clone(&tail));
        }
        let changed = tail.changed.subscribe();
        (tail, changed, is_new)
    }

    /// Removes a tail that has no readers, or that is closed. Returns whether it did.
    fn remove(&self, id: Uuid, tail: &Arc<Tail>) -> bool {
        let mut tails = self.lock();
        let is_over = tail.changed.receiver_count() == 0 || tail.lock().is_closed;
        if is_over && tails.get(&id).is_some_and(|known| Arc::ptr_eq(known, tail)) {
            tails.remove(&id);
        }
        is_over
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Tail>>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tail {
    fn after(seq: u64) -> Arc<Self> {
        Arc::new(Self {
            recent: Mutex::new(Recent {
                after: seq,
                last: seq,
                ..Recent::default()
            }),
            changed: watch::Sender::new(()),
        })
    }

    /// The entries after `seq` that were read so far; `None` if they are no longer in memory.
    pub(super) fn entries_after(&self, seq: u64) -> Option<Vec<Arc<Entry>>> {
        let recent = self.lock();
        (seq >= recent.after).then(|| {
            let entries = recent.entries.iter();
            entries.filter(|entry| entry.seq > seq).cloned().collect()
        })
    }

    /// Whether nothing follows: the debate was deleted, or the store failed.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Reads what is new.
    async fn poll(&self, store: &Store, id: Uuid) -> Result<(), StoreError> {
        let last = self.lock().last;
        let entries = store.entries_after(id, last).await?;
        if entries.is_empty() {
            if store.get(id).await?.is_none() {
                self.close();
            }
            return Ok(());
        }
        let mut recent = self.lock();
        for entry in entries {
            recent.last = entry.seq;
            recent.entries.push_back(Arc::new(entry));
        }
        while recent.entries.len() > MAX_RECENT {
            if let Some(dropped) = recent.entries.pop_front() {
                recent.after = dropped.seq;
            }
        }
        drop(recent);
        self.changed.send_replace(());
        Ok(())
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scheduler {
    /// Follows the journal of a debate that does not run here, for a reader that has received everything up to `seq`. The
    /// receiver also changes when the debate enters the scheduler.
    pub(super) fn follow(self: &Arc<Self>, id: Uuid, seq: u64) -> (Arc<Tail>, watch::Receiver<()>) {
        let (tail, changed, is_new) = self.tails().join(id, seq);
        if is_new {
            let polling = Arc::clone(self).poll_tail(id, Arc::clone(&tail));
            self.tasks().spawn(polling);
        }
        (tail, changed)
    }

    async fn poll_tail(self: Arc<Self>, id: Uuid, tail: Arc<Tail>) {
        let mut notified = self.notifiers().subscribe(id);
        loop {
            tokio::select! {
                () = self.closing().cancelled() => return,
                () = tail.changed.closed() => {}
                _ = notified.changed() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            if self.tails().remove(id, &tail) {
                return;
            }
            notified.mark_unchanged();
            // The readers of a debate that runs here have its feed.
            if !self.has(id) && tail.poll(self.store(), id).await.is_err() {
                tail.close();
            }
        }
    }
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
