//! Writing to the journal. Entries get their numbers in the order in which they come; whoever comes to the journal first writes
//! for all who wait behind it. So five seats that answer at once wait for the disk once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use tokio::sync::{OwnedMutexGuard, oneshot};

use super::lock;
use crate::event::{Entry, Event, Millis};
use crate::journal::JournalError;

pub(super) struct WriteQueue {
    queue: Mutex<Queue>,
    turn: Arc<tokio::sync::Mutex<()>>,
    /// What the last author did not wait for.
    pub(super) pending: tokio::sync::Mutex<PendingAppend>,
    /// How many steps are at work now.
    in_flight: AtomicUsize,
}

/// An append that nobody waits for yet.
#[derive(Default)]
pub(super) enum PendingAppend {
    #[default]
    Nothing,
    Append(Append),
    /// It failed, and nothing is done on top of it any more.
    Failed(JournalError),
}

pub(super) struct Append {
    /// Nobody else writes meanwhile.
    pub(super) turn: OwnedMutexGuard<()>,
    pub(super) all: Vec<Waiting>,
    pub(super) writing: BoxFuture<'static, Result<(), JournalError>>,
}

/// A step at work.
pub(super) struct InFlight<'p>(&'p AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Queue {
    next_seq: u64,
    waiting: Vec<Waiting>,
    /// Rounds that began at this table.
    begun: Vec<u32>,
}

/// An entry that is not in the journal yet.
pub(super) struct Waiting {
    pub(super) entry: Entry,
    /// `None`: nothing depends on it. It travels with the next one that matters.
    pub(super) author: Option<Author>,
    /// Whether listeners are still to hear of it.
    pub(super) is_unannounced: bool,
}

pub(super) type Ack = oneshot::Receiver<Result<(), JournalError>>;

pub(super) struct Author {
    sender: oneshot::Sender<Result<(), JournalError>>,
    durability: Durability,
}

impl Author {
    pub(super) fn notify(self, outcome: Result<(), JournalError>) {
        // Who no longer waits does not want to know.
        let _ = self.sender.send(outcome);
    }
}

/// When an author may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// When it is written.
    Written,
    /// When it is on its way and nobody is at work: all that comes next waits for it before anything is done.
    Queued,
}

impl WriteQueue {
    pub(super) fn at(next_seq: u64) -> Self {
        Self {
            queue: Mutex::new(Queue {
                next_seq,
                waiting: Vec::new(),
                begun: Vec::new(),
            }),
            turn: Arc::default(),
            pending: tokio::sync::Mutex::default(),
            in_flight: AtomicUsize::new(0),
        }
    }

    /// Whether no step is at work.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
    }

    /// Whether no step is at work, and all who wait for the journal may go on before it is written.
    pub(super) fn may_continue(&self, all: &[Waiting]) -> bool {
        let authors = all.iter().filter_map(|waiting| waiting.author.as_ref());
        self.is_idle()
            && authors
                .into_iter()
                .all(|it| it.durability == Durability::Queued)
    }

    pub(super) fn in_flight(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.in_flight)
    }

    /// The number of the last entry that the journal holds, or will with the next.
    pub(super) fn last_seq(&self) -> u64 {
        lock(&self.queue).next_seq - 1
    }

    /// Whether this round has not begun before. It has now.
    pub(super) fn begin(&self, round: u32) -> bool {
        let mut queue = lock(&self.queue);
        let is_new = !queue.begun.contains(&round);
        if is_new {
            queue.begun.push(round);
        }
        is_new
    }

    /// An entry that nothing depends on yet, and nobody hears of.
    pub(super) fn defer(&self, at: Millis, event: Event) {
        self.defer_as(at, event, false);
    }

    /// An entry that nothing depends on yet, and that listeners hear of with the next [`WriteQueue::unannounced`].
    pub(super) fn defer_and_announce(&self, at: Millis, event: Event) {
        self.defer_as(at, event, true);
    }

    fn defer_as(&self, at: Millis, event: Event, is_unannounced: bool) {
        let mut queue = lock(&self.queue);
        let entry = queue.number(at, event);
        queue.waiting.push(Waiting {
            entry,
            author: None,
            is_unannounced,
        });
    }

    /// What listeners are to hear of before it is written.
    pub(super) fn unannounced(&self) -> Vec<Entry> {
        lock(&self.queue)
            .waiting
            .iter_mut()
            .take_while(|waiting| waiting.author.is_none())
            .filter_map(|waiting| {
                std::mem::take(&mut waiting.is_unannounced).then(|| waiting.entry.clone())
            })
            .collect()
    }

    /// An entry whose author waits until it is written.
    pub(super) fn put(&self, at: Millis, event: Event, durability: Durability) -> Ack {
        let (sender, ack) = oneshot::channel();
        let mut queue = lock(&self.queue);
        let entry = queue.number(at, event);
        queue.waiting.push(Waiting {
            entry,
            author: Some(Author { sender, durability }),
            is_unannounced: true,
        });
        ack
    }

    /// Whether something waits to be written that matters, and not only what travels along.
    pub(super) fn is_awaited(&self) -> bool {
        let queue = lock(&self.queue);
        queue.waiting.iter().any(|it| it.author.is_some())
    }

    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Everything that waits to be written. Only for who has the turn.
    pub(super) fn take(&self) -> Vec<Waiting> {
        std::mem::take(&mut lock(&self.queue).waiting)
    }

    /// Nothing of it was written. Authors hear why; what nobody waits for is tried again with the next.
    pub(super) fn put_back(&self, all: Vec<Waiting>, error: &JournalError) {
        let mut queue = lock(&self.queue);
        let Some(first) = all.first().map(|waiting| waiting.entry.seq) else {
            return;
        };
        let mut rest = Vec::new();
        for waiting in all {
            match waiting.author {
                Some(author) => author.notify(Err(error.clone())),
                None => rest.push(waiting),
            }
        }
        rest.append(&mut queue.waiting);
        queue.next_seq = first;
        for waiting in &mut rest {
            waiting.entry.seq = queue.next_seq;
            queue.next_seq += 1;
        }
        queue.waiting = rest;
    }
}

impl Queue {
    fn number(&mut self, at: Millis, event: Event) -> Entry {
        let seq = self.next_seq;
        self.next_seq += 1;
        Entry { seq, at, event }
    }
}
