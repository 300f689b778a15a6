//! One reader of a debate's events: what it has got, and what it gets next.
//!
//! The id of every event says all that a reader has got: the last journaled entry, and of every turn under way how much
//! of which text. So a reader that comes back with the last id it saw is told exactly the rest, by this process or another,
//! whether the turn is still being spoken, is in the journal by now, or had to be started again meanwhile. The text is
//! recognised by its hash: what was started again in another process cannot be told otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use roundtable_engine::envelope::{Envelope, Envelopes};
use roundtable_engine::event::{Entry, Event, FinishedStep};

use super::live::{Live, Speaking};

/// What a reader has got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    /// All entries up to this one.
    seq: u64,
    /// Rounds that it was told of before they were journaled.
    rounds: BTreeSet<u32>,
    /// Turns of which it has got a part, by their step.
    turns: BTreeMap<String, Heard>,
}

/// The part of a turn that a reader has got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Heard {
    restarts: u32,
    length: usize,
    hash: Hash,
    /// It is known to be of the text that is being spoken here and now.
    certain: bool,
}

/// FNV-1a; of a text's beginning, so that it can be carried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hash(u32);

impl Default for Hash {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Hash {
    fn and(self, text: &str) -> Self {
        Self(text.bytes().fold(self.0, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        }))
    }
}

impl Heard {
    /// What follows in `text`; `None` where what was heard is not its beginning.
    fn rest<'t>(&self, text: &'t str) -> Option<&'t str> {
        let (beginning, rest) = text.split_at_checked(self.length)?;
        (self.certain || Hash::default().and(beginning) == self.hash).then_some(rest)
    }

    fn take(&mut self, text: &str) {
        self.length += text.len();
        self.hash = self.hash.and(text);
    }
}

/// `12~r3~r3/skeptic/review:0:340:9ae16a3b`: entry 12, round 3, and 340 bytes of a turn.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seq)?;
        for round in &self.rounds {
            write!(f, "~r{round}")?;
        }
        for (step, heard) in &self.turns {
            let (restarts, length) = (heard.restarts, heard.length);
            write!(f, "~{step}:{restarts}:{length}:{:x}", heard.hash.0)?;
        }
        Ok(())
    }
}

/// An id that none of our events has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not the id of an event")]
pub(super) struct NotAnId(String);

/// No debate has as many turns at once; a longer id is somebody's attempt at something.
const LONGEST_ID: usize = 16_384;

impl std::str::FromStr for Cursor {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let wrong = || NotAnId(text.chars().take(80).collect());
        if text.len() > LONGEST_ID {
            return Err(wrong());
        }
        let mut parts = text.split('~');
        let seq = parts.next().and_then(|seq| seq.parse().ok());
        let mut cursor = Self {
            seq: seq.ok_or_else(wrong)?,
            ..Self::default()
        };
        for part in parts {
            if let Some((step, heard)) = part.split_once(':') {
                let heard = parse_heard(heard).ok_or_else(wrong)?;
                cursor.turns.insert(step.to_owned(), heard);
            } else {
                let round = part.strip_prefix('r').and_then(|round| round.parse().ok());
                cursor.rounds.insert(round.ok_or_else(wrong)?);
            }
        }
        Ok(cursor)
    }
}

fn parse_heard(text: &str) -> Option<Heard> {
    let mut numbers = text.split(':');
    let heard = Heard {
        restarts: numbers.next()?.parse().ok()?,
        length: numbers.next()?.parse().ok()?,
        hash: Hash(u32::from_str_radix(numbers.next()?, 16).ok()?),
        certain: false,
    };
    numbers.next().is_none().then_some(heard)
}

/// An event as it goes out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    pub(super) id: String,
    pub(super) envelope: Envelope,
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    cursor: Cursor,
    envelopes: Envelopes,
    has_ended: bool,
}

impl Reader {
    /// One that has got what its id says. `past` is the journal: what of it was told before is only counted.
    pub(super) fn resuming(cursor: Cursor, past: &[Entry]) -> Self {
        let mut reader = Self {
            cursor,
            ..Self::default()
        };
        let seq = reader.cursor.seq;
        for entry in past.iter().filter(|entry| entry.seq <= seq) {
            reader.envelopes.wrap(&entry.event);
            reader.note_end(&entry.event);
        }
        reader
    }

    /// The last journaled entry that it has got.
    pub(super) fn seq(&self) -> u64 {
        self.cursor.seq
    }

    /// Whether the last that it has got is the end of the debate.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The debate may be spoken by somebody else now: what was heard has to be compared again.
    pub(super) fn doubt(&mut self) {
        for heard in self.cursor.turns.values_mut() {
            heard.certain = false;
        }
    }

    /// Everything up to this entry was told, or is nothing that readers are told.
    fn skip_to(&mut self, seq: u64) {
        self.cursor.seq = self.cursor.seq.max(seq);
    }

    /// What a journaled entry adds to what it has got.
    pub(super) fn entry(&mut self, seq: u64, event: &Event) -> Vec<Frame> {
        if seq <= self.cursor.seq {
            return Vec::new();
        }
        self.note_end(event);
        match event {
            Event::RoundStarted { round, .. } => {
                let is_known = self.cursor.rounds.remove(round);
                self.cursor.seq = seq;
                let envelope = self.envelopes.wrap(event);
                let frames = envelope.filter(|_| !is_known);
                frames
                    .map(|envelope| self.frame(envelope))
                    .into_iter()
                    .collect()
            }
            Event::StepFinished(step) => {
                let mut frames = self.finish(step);
                self.cursor.turns.remove(&step.call.step);
                self.cursor.seq = seq;
                frames.extend(self.wrap(event));
                frames
            }
            Event::StepFailed(step) => {
                self.cursor.turns.remove(&step.call.step);
                self.cursor.seq = seq;
                self.wrap(event).into_iter().collect()
            }
            Event::Opened(_)
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::Ended(_)
            | Event::Reopened { .. }
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. }
            | Event::Said(_)
            | Event::Asked(_)
            | Event::Decided(_) => {
                self.cursor.seq = seq;
                self.wrap(event).into_iter().collect()
            }
        }
    }

    /// What this reader has not got of what is journaled and of what is going on. `None` where entries are no longer at
    /// hand: then the journal has to be read first.
    pub(super) fn take(&mut self, live: &Live) -> Option<Vec<Frame>> {
        let mut frames = Vec::new();
        if self.cursor.seq < live.durable {
            for notice in live.entries_after(self.cursor.seq)? {
                let seq = notice.seq.unwrap_or_default();
                frames.extend(self.entry(seq, &notice.event));
            }
            self.skip_to(live.durable);
        }
        // The journal, where it was read, may be ahead of what was told here: a turn may be finished there that is still
        // under way here. Then the next thing that is told brings both together.
        if self.cursor.seq == live.durable {
            frames.extend(self.live(live));
        }
        Some(frames)
    }

    /// What is going on adds to what it has got. It must have got exactly what is journaled.
    fn live(&mut self, live: &Live) -> Vec<Frame> {
        let mut frames = Vec::new();
        for notice in &live.rounds {
            if let Event::RoundStarted { round, .. } = notice.event
                && self.cursor.rounds.insert(round)
            {
                frames.extend(self.wrap(&notice.event));
            }
        }
        for turn in &live.turns {
            frames.extend(self.listen(turn));
            if let Some(heard) = self.cursor.turns.get_mut(&turn.step) {
                heard.certain = true;
            }
        }
        frames
    }

    /// The rest of a turn that is in the journal by now.
    fn finish(&mut self, step: &FinishedStep) -> Vec<Frame> {
        let call = &step.call;
        if let Some(heard) = self.cursor.turns.get_mut(&call.step) {
            heard.certain = false;
        }
        let turn = Speaking {
            step: call.step.clone(),
            seat: call.seat.clone(),
            round: call.round,
            model: call.model.clone(),
            restarts: self.heard(&call.step).map_or(0, |heard| heard.restarts),
            reason: "the turn was spoken anew".into(),
            text: step.text.clone(),
        };
        self.listen(&turn)
    }

    fn listen(&mut self, turn: &Speaking) -> Vec<Frame> {
        let mut frames = Vec::new();
        let heard = self.heard(&turn.step);
        if heard.is_none() {
            let heard = Heard {
                restarts: turn.restarts,
                ..Heard::default()
            };
            self.cursor.turns.insert(turn.step.clone(), heard);
            frames.extend(self.wrap(&turn.started()));
        }
        let heard = self.heard(&turn.step).unwrap_or_default();
        let same = heard.restarts == turn.restarts;
        let rest = if let Some(rest) = heard.rest(&turn.text).filter(|_| same) {
            rest
        } else {
            let heard = Heard {
                restarts: turn.restarts,
                ..Heard::default()
            };
            self.cursor.turns.insert(turn.step.clone(), heard);
            frames.extend(self.wrap(&turn.restarted()));
            &turn.text
        };
        if !rest.is_empty() {
            if let Some(heard) = self.cursor.turns.get_mut(&turn.step) {
                heard.take(rest);
            }
            frames.extend(self.wrap(&turn.chunk(rest)));
        }
        frames
    }

    fn heard(&self, step: &str) -> Option<Heard> {
        self.cursor.turns.get(step).copied()
    }

    fn wrap(&mut self, event: &Event) -> Option<Frame> {
        let envelope = self.envelopes.wrap(event)?;
        Some(self.frame(envelope))
    }

    fn frame(&self, envelope: Envelope) -> Frame {
        Frame {
            id: self.cursor.to_string(),
            envelope,
        }
    }

    fn note_end(&mut self, event: &Event) {
        if matches!(event, Event::Ended(_)) {
            self.has_ended = true;
        } else if matches!(event, Event::Reopened { .. }) {
            self.has_ended = false;
        }
    }
}

impl Speaking {
    fn started(&self) -> Event {
        Event::StepStarted {
            step: self.step.clone(),
            seat: self.seat.clone(),
            round: self.round,
            model: self.model.clone(),
        }
    }

    fn restarted(&self) -> Event {
        Event::StepRestarted {
            step: self.step.clone(),
            reason: self.reason.clone(),
        }
    }

    fn chunk(&self, text: &str) -> Event {
        Event::Chunk {
            step: self.step.clone(),
            seat: self.seat.clone(),
            round: self.round,
            offset: self.text.len() - text.len(),
            text: text.to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
