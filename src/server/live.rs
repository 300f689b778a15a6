//! The live state of a running debate that is not in its journal yet, folded from its notices, so that a reader that
//! connects in the middle of a turn gets the turn's beginning.
//!
//! Nothing here waits for a reader. A reader polls when it is ready; what it missed is here or in the journal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roundtable_engine::event::Event;
use roundtable_engine::table::Notice;
use tokio::sync::watch;

/// Journaled entries kept in memory, so that readers need not query the store for each.
const MAX_RECENT: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Live {
    /// The last journaled entry.
    pub(super) durable: u64,
    /// Entries that were announced and will be journaled together with the next one, such as the start of a round.
    pub(super) announced: Vec<Arc<Notice>>,
    /// Turns in progress, in the order in which they began.
    pub(super) turns: Vec<LiveTurn>,
    recent: VecDeque<Arc<Notice>>,
    /// `recent` has all entries after this one.
    recent_after: u64,
}

/// A turn in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiveTurn {
    pub(super) step: String,
    pub(super) seat: String,
    pub(super) round: u32,
    pub(super) model: String,
    pub(super) restarts: u32,
    /// Why it was restarted the last time.
    pub(super) reason: String,
    pub(super) text: String,
}

impl Live {
    pub(super) fn after(seq: u64) -> Self {
        Self {
            durable: seq,
            recent_after: seq,
            ..Self::default()
        }
    }

    /// Recent entries are kept only if there are readers.
    pub(super) fn apply(&mut self, notice: &Arc<Notice>, has_readers: bool) {
        match &notice.event {
            Event::StepStarted {
                step,
                seat,
                round,
                model,
            } => self.turns.push(LiveTurn {
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
            _ => {}
        }
        match notice.seq {
            Some(seq) if notice.is_written => self.journaled(seq, notice, has_readers),
            Some(_) => self.announced.push(Arc::clone(notice)),
            None => {}
        }
    }

    /// The announced entries were journaled together with this one.
    fn journaled(&mut self, seq: u64, notice: &Arc<Notice>, has_readers: bool) {
        self.durable = seq;
        if !has_readers {
            self.announced.clear();
            self.recent.clear();
            self.recent_after = seq;
            return;
        }
        self.recent.extend(self.announced.drain(..));
        self.recent.push_back(Arc::clone(notice));
        while self.recent.len() > MAX_RECENT {
            if let Some(dropped) = self.recent.pop_front() {
                self.recent_after = dropped.seq.unwrap_or(self.recent_after);
            }
        }
    }

    fn turn(&mut self, step: &str) -> Option<&mut LiveTurn> {
        self.turns.iter_mut().find(|turn| turn.step == step)
    }

    /// The journaled entries after `seq`; `None` if they are no longer in memory.
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

/// The live state of one debate, with a change notification for its readers.
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

    /// The debate starts, or resumes after this entry.
    pub(super) fn begin(&self, seq: u64) {
        *self.lock() = Live::after(seq);
        self.changed.send_replace(());
    }

    pub(super) fn publish(&self, notice: &Arc<Notice>) {
        let has_readers = self.changed.receiver_count() > 0;
        self.lock().apply(notice, has_readers);
        // Asked again: one that has subscribed meanwhile may have read the state before this notice.
        if self.changed.receiver_count() > 0 {
            self.changed.send_replace(());
        }
    }

    /// Wakes all readers when the debate has left the scheduler.
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
