//! What of a running debate is not in its journal yet: a fold over its notices, so that a reader who comes in the middle of
//! a turn gets its beginning.
//!
//! Nothing here waits for a reader. A reader looks at it whenever it is ready; what it missed meanwhile is in here or in
//! the journal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roundtable_engine::event::Event;
use roundtable_engine::table::Notice;
use tokio::sync::watch;

/// How many journaled entries are kept for readers at hand, so that they need not go to the store for each.
const RECENT: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Live {
    /// The last entry that is known to be in the journal.
    pub(super) durable: u64,
    /// Rounds that have begun, but will be journaled only with what follows.
    pub(super) rounds: Vec<Arc<Notice>>,
    /// Turns under way, in the order in which they began.
    pub(super) turns: Vec<Speaking>,
    recent: VecDeque<Arc<Notice>>,
    /// `recent` has everything after this entry that readers are told of.
    recent_after: u64,
}

/// A turn under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Speaking {
    pub(super) step: String,
    pub(super) seat: String,
    pub(super) round: u32,
    pub(super) model: String,
    /// How often it had to be started again, and why the last time.
    pub(super) restarts: u32,
    pub(super) reason: String,
    pub(super) text: String,
}

/// Whether somebody is reading: only then entries are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    Some,
    None,
}

impl Live {
    pub(super) fn after(seq: u64) -> Self {
        Self {
            durable: seq,
            recent_after: seq,
            ..Self::default()
        }
    }

    pub(super) fn take_up(&mut self, notice: &Arc<Notice>, readers: Readers) {
        match &notice.event {
            Event::RoundStarted { .. } => {
                self.rounds.push(Arc::clone(notice));
                return;
            }
            Event::StepStarted {
                step,
                seat,
                round,
                model,
            } => self.turns.push(Speaking {
                step: step.clone(),
                seat: seat.clone(),
                round: *round,
                model: model.clone(),
                restarts: 0,
                reason: String::new(),
                text: String::new(),
            }),
            Event::Chunk { step, text, .. } => {
                if let Some(turn) = self.turn(step) {
                    turn.text.push_str(text);
                }
            }
            Event::StepRestarted { step, reason } => {
                if let Some(turn) = self.turn(step) {
                    turn.restarts += 1;
                    turn.text.clear();
                    turn.reason.clone_from(reason);
                }
            }
            Event::StepFinished(step) => self.turns.retain(|turn| turn.step != step.call.step),
            Event::StepFailed(step) => self.turns.retain(|turn| turn.step != step.call.step),
            Event::Ended(_) => self.turns.clear(),
            Event::Opened(_)
            | Event::Noted { .. }
            | Event::Reopened { .. }
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. }
            | Event::Said(_)
            | Event::Asked(_)
            | Event::Decided(_) => {}
        }
        if let Some(seq) = notice.seq {
            self.journaled(seq, notice, readers);
        }
    }

    /// What was waiting for an entry to travel with is in the journal too, now.
    fn journaled(&mut self, seq: u64, notice: &Arc<Notice>, readers: Readers) {
        self.durable = seq;
        match readers {
            Readers::Some => {
                self.recent.extend(self.rounds.drain(..));
                self.recent.push_back(Arc::clone(notice));
                while self.recent.len() > RECENT {
                    if let Some(dropped) = self.recent.pop_front() {
                        self.recent_after = dropped.seq.unwrap_or(self.recent_after);
                    }
                }
            }
            Readers::None => {
                self.rounds.clear();
                self.recent.clear();
                self.recent_after = seq;
            }
        }
    }

    fn turn(&mut self, step: &str) -> Option<&mut Speaking> {
        self.turns.iter_mut().find(|turn| turn.step == step)
    }

    /// The journaled entries after `seq`, where they are at hand.
    pub(super) fn entries_after(&self, seq: u64) -> Option<Vec<Arc<Notice>>> {
        (seq >= self.recent_after).then(|| {
            let recent = self.recent.iter();
            recent
                .filter(|notice| notice.seq.is_some_and(|own| own > seq))
                .cloned()
                .collect()
        })
    }
}

/// The live part of one debate, and how its readers learn that there is something new.
#[derive(Debug)]
pub(super) struct Feed {
    live: Mutex<Live>,
    changed: watch::Sender<()>,
}

impl Feed {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            live: Mutex::default(),
            changed: watch::Sender::new(()),
        })
    }

    /// The debate begins, or goes on after this entry.
    pub(super) fn begin(&self, seq: u64) {
        *self.lock() = Live::after(seq);
        self.changed.send_replace(());
    }

    pub(super) fn take_up(&self, notice: &Arc<Notice>) {
        let is_read = self.changed.receiver_count() > 0;
        let readers = if is_read {
            Readers::Some
        } else {
            Readers::None
        };
        self.lock().take_up(notice, readers);
        if is_read {
            self.changed.send_replace(());
        }
    }

    /// Wakes all readers: the debate has left the scheduler.
    pub(super) fn close(&self) {
        self.changed.send_replace(());
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
