//! Writing to the journal. Entries get their numbers in the order in which they come; whoever comes to the journal first writes
//! for all who wait behind it. So five seats that answer at once wait for the disk once.

use std::sync::Mutex;

use tokio::sync::{MutexGuard, oneshot};

use super::lock;
use crate::event::{Entry, Event, Millis};
use crate::journal::JournalError;

pub(super) struct Pen {
    queue: Mutex<Queue>,
    turn: tokio::sync::Mutex<()>,
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
}

pub(super) type Author = oneshot::Sender<Result<(), JournalError>>;

impl Pen {
    pub(super) fn at(next_seq: u64) -> Self {
        Self {
            queue: Mutex::new(Queue {
                next_seq,
                waiting: Vec::new(),
                begun: Vec::new(),
            }),
            turn: tokio::sync::Mutex::default(),
        }
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

    /// An entry that nothing depends on yet.
    pub(super) fn defer(&self, at: Millis, event: Event) -> Entry {
        let mut queue = lock(&self.queue);
        let entry = queue.number(at, event);
        queue.waiting.push(Waiting {
            entry: entry.clone(),
            author: None,
        });
        entry
    }

    /// An entry whose author waits until it is written.
    pub(super) fn put(
        &self,
        at: Millis,
        event: Event,
    ) -> oneshot::Receiver<Result<(), JournalError>> {
        let (author, told) = oneshot::channel();
        let mut queue = lock(&self.queue);
        let entry = queue.number(at, event);
        queue.waiting.push(Waiting {
            entry,
            author: Some(author),
        });
        told
    }

    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
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
                // Who no longer waits does not want to know.
                Some(author) => drop(author.send(Err(error.clone()))),
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
