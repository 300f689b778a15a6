//! Journal write queue with group commit: entries are numbered in arrival order, and the first step that gets the writer
//! lock appends all queued entries in one batch. Five seats that answer at once wait for one fsync.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use tokio::sync::{OwnedMutexGuard, oneshot};

use super::lock;
use crate::event::{Entry, Event, Millis};
use crate::journal::JournalError;

pub(super) struct WriteQueue {
    queue: Mutex<Queue>,
    writer: Arc<tokio::sync::Mutex<()>>,
    /// An append that was started but not awaited.
    pub(super) pending: tokio::sync::Mutex<PendingAppend>,
    /// Number of steps whose model call is in flight.
    in_flight: AtomicUsize,
}

/// A started append that [`Table::flush`](super::Table::flush) has to await.
#[derive(Default)]
pub(super) enum PendingAppend {
    #[default]
    Nothing,
    Append(Append),
    /// The append failed; every later flush returns this error.
    Failed(JournalError),
}

pub(super) struct Append {
    /// Held until the append is done, so that batches do not overlap.
    pub(super) writer: OwnedMutexGuard<()>,
    pub(super) batch: Vec<QueuedEntry>,
    pub(super) writing: BoxFuture<'static, Result<(), JournalError>>,
}

/// Guard that counts a step as in flight.
pub(super) struct InFlight<'p>(&'p AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Queue {
    next_seq: u64,
    entries: Vec<QueuedEntry>,
    /// Rounds started by this table.
    started_rounds: Vec<u32>,
}

/// An entry that is not in the journal yet.
pub(super) struct QueuedEntry {
    pub(super) entry: Entry,
    /// `None`: a deferred entry, written together with the next one that has a waiter.
    pub(super) waiter: Option<Waiter>,
    pub(super) announcement: Announcement,
}

/// When listeners are notified of a queued entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Announcement {
    /// When it is in the journal: a reader that is told its number reads it there.
    WhenWritten,
    /// Already in the queue, as not written yet.
    InQueue,
    /// It has been made, or is not needed.
    Done,
}

/// Receives the outcome of the append.
pub(super) type Ack = oneshot::Receiver<Result<(), JournalError>>;

/// The sending half of an [`Ack`].
pub(super) struct Waiter {
    sender: oneshot::Sender<Result<(), JournalError>>,
    durability: Durability,
}

impl Waiter {
    pub(super) fn notify(self, outcome: Result<(), JournalError>) {
        // The receiver may have been dropped, which is fine.
        let _ = self.sender.send(outcome);
    }
}

/// When the caller of [`WriteQueue::push`] may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// After the entry is in the journal.
    Written,
    /// If no step is in flight, as soon as the append has started: the next action flushes before it acts.
    Queued,
}

impl WriteQueue {
    pub(super) fn starting_at(next_seq: u64) -> Self {
        Self {
            queue: Mutex::new(Queue {
                next_seq,
                entries: Vec::new(),
                started_rounds: Vec::new(),
            }),
            writer: Arc::default(),
            pending: tokio::sync::Mutex::default(),
            in_flight: AtomicUsize::new(0),
        }
    }

    /// Whether no step is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
    }

    /// Whether no step is in flight and every waiter of the batch accepts [`Durability::Queued`].
    pub(super) fn may_write_in_background(&self, batch: &[QueuedEntry]) -> bool {
        let mut waiters = batch.iter().filter_map(|queued| queued.waiter.as_ref());
        self.is_idle() && waiters.all(|waiter| waiter.durability == Durability::Queued)
    }

    pub(super) fn in_flight(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.in_flight)
    }

    /// Sequence number of the newest entry before all of which listeners are yet to be notified.
    pub(super) fn last_announced(&self) -> u64 {
        let queue = lock(&self.queue);
        let mut queued = queue.entries.iter();
        let next = queued.find(|queued| queued.announcement != Announcement::Done);
        next.map_or(queue.next_seq, |queued| queued.entry.seq) - 1
    }

    /// Marks a round as started; false if it already was.
    pub(super) fn start_round(&self, round: u32) -> bool {
        let mut queue = lock(&self.queue);
        let is_new = !queue.started_rounds.contains(&round);
        if is_new {
            queue.started_rounds.push(round);
        }
        is_new
    }

    /// Queues an entry that nothing depends on and that listeners are not notified of.
    pub(super) fn defer(&self, at: Millis, event: Event) {
        self.enqueue(at, event, None, Announcement::Done);
    }

    /// Queues an entry that nothing depends on. It is announced when it is written.
    pub(super) fn defer_until_written(&self, at: Millis, event: Event) {
        self.enqueue(at, event, None, Announcement::WhenWritten);
    }

    /// Queues an entry that nothing depends on; the next [`WriteQueue::announce_deferred`] announces it.
    pub(super) fn defer_and_announce(&self, at: Millis, event: Event) {
        self.enqueue(at, event, None, Announcement::InQueue);
    }

    /// Queues an entry whose author waits for the [`Ack`].
    pub(super) fn push(&self, at: Millis, event: Event, durability: Durability) -> Ack {
        let (sender, ack) = oneshot::channel();
        let waiter = Waiter { sender, durability };
        self.enqueue(at, event, Some(waiter), Announcement::WhenWritten);
        ack
    }

    fn enqueue(
        &self,
        at: Millis,
        event: Event,
        waiter: Option<Waiter>,
        announcement: Announcement,
    ) {
        let mut queue = lock(&self.queue);
        let seq = queue.next_seq;
        queue.next_seq += 1;
        queue.entries.push(QueuedEntry {
            entry: Entry { seq, at, event },
            waiter,
            announcement,
        });
    }

    /// Notifies listeners of deferred entries at the head of the queue before they are written, up to the first that is announced
    /// when it is written. The queue stays locked: otherwise another thread could write and announce a later entry first.
    pub(super) fn announce_deferred(&self, notify: impl FnMut(Entry)) {
        lock(&self.queue)
            .entries
            .iter_mut()
            .take_while(|queued| queued.announcement != Announcement::WhenWritten)
            .filter_map(|queued| {
                let before = std::mem::replace(&mut queued.announcement, Announcement::Done);
                (before == Announcement::InQueue).then(|| queued.entry.clone())
            })
            .for_each(notify);
    }

    /// Whether the queue holds anything but deferred entries.
    pub(super) fn has_waiters(&self) -> bool {
        let queue = lock(&self.queue);
        queue.entries.iter().any(|queued| queued.waiter.is_some())
    }

    pub(super) async fn lock_writer(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.writer).lock_owned().await
    }

    /// Takes all queued entries. Only for the holder of the writer lock.
    pub(super) fn drain(&self) -> Vec<QueuedEntry> {
        std::mem::take(&mut lock(&self.queue).entries)
    }

    /// Handles a failed append: waiters get the error, deferred entries are requeued and renumbered.
    pub(super) fn requeue(&self, batch: Vec<QueuedEntry>, error: &JournalError) {
        let mut queue = lock(&self.queue);
        let Some(first) = batch.first().map(|queued| queued.entry.seq) else {
            return;
        };
        let mut deferred = Vec::new();
        for queued in batch {
            match queued.waiter {
                Some(waiter) => waiter.notify(Err(error.clone())),
                None => deferred.push(queued),
            }
        }
        deferred.append(&mut queue.entries);
        queue.next_seq = first;
        for queued in &mut deferred {
            queued.entry.seq = queue.next_seq;
            queue.next_seq += 1;
        }
        queue.entries = deferred;
    }
}
