//! One reader of a debate's events: its position, and the events it gets next.
//!
//! An event id encodes the reader's whole position: the last journaled entry, and for every turn in progress the length
//! and hash of the text received so far. A reader that reconnects with its last id gets exactly the missing events, from
//! this process or another, whether the turn is still in progress, has been journaled, or was restarted. The hash detects
//! a turn that was restarted in another process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use roundtable_engine::envelope::{Envelope, Envelopes};
use roundtable_engine::event::{Entry, Event, FinishedStep};
use roundtable_engine::withheld;

use super::live::{Live, LiveTurn};

/// The position of a reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    /// All entries up to this one were received.
    seq: u64,
    /// Rounds that were received before they were journaled.
    rounds: BTreeSet<u32>,
    /// Partly received turns, by step.
    turns: BTreeMap<String, PartialTurn>,
}

impl Cursor {
    /// Whether nothing was received yet.
    pub(super) fn is_start(&self) -> bool {
        *self == Self::default()
    }
}

/// The received part of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PartialTurn {
    restarts: u32,
    length: usize,
    hash: Hash,
    /// Restarts that this reader was sent. A client that drops events with a known id must not lose one: the text before it may
    /// have begun in another process, with the same numbers.
    voided: u32,
    /// The part is known to belong to the text in progress, without comparing hashes.
    verified: bool,
}

/// FNV-1a of a prefix, which can be extended as text arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hash(u32);

impl Default for Hash {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Hash {
    fn extend(self, text: &str) -> Self {
        Self(text.bytes().fold(self.0, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        }))
    }
}

impl PartialTurn {
    /// The rest of `text`; `None` if the received part is not its prefix.
    fn rest<'t>(&self, text: &'t str) -> Option<&'t str> {
        let (prefix, rest) = text.split_at_checked(self.length)?;
        (self.verified || Hash::default().extend(prefix) == self.hash).then_some(rest)
    }

    fn receive(&mut self, text: &str) {
        self.length += text.len();
        self.hash = self.hash.extend(text);
    }
}

/// `12~r3~r3/skeptic/review:0:340:9ae16a3b`: entry 12, round 3, and 340 bytes of a turn.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seq)?;
        for round in &self.rounds {
            write!(f, "~r{round}")?;
        }
        for (step, part) in &self.turns {
            let (restarts, length) = (part.restarts, part.length);
            write!(f, "~{step}:{restarts}:{length}:{:x}", part.hash.0)?;
            if part.voided > 0 {
                write!(f, ":{}", part.voided)?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a valid event id")]
pub(super) struct InvalidEventId(String);

/// Far longer than any id with all turns of a debate in progress.
const MAX_ID_LENGTH: usize = 16_384;

impl std::str::FromStr for Cursor {
    type Err = InvalidEventId;

    fn from_str(text: &str) -> Result<Self, InvalidEventId> {
        let invalid = || InvalidEventId(text.chars().take(80).collect());
        if text.len() > MAX_ID_LENGTH {
            return Err(invalid());
        }
        let mut parts = text.split('~');
        let seq = parts.next().and_then(|seq| seq.parse().ok());
        let mut cursor = Self {
            seq: seq.ok_or_else(invalid)?,
            ..Self::default()
        };
        for part in parts {
            if let Some((step, numbers)) = part.split_once(':') {
                let turn = parse_turn(numbers).ok_or_else(invalid)?;
                cursor.turns.insert(step.to_owned(), turn);
            } else {
                let round = part.strip_prefix('r').and_then(|round| round.parse().ok());
                cursor.rounds.insert(round.ok_or_else(invalid)?);
            }
        }
        Ok(cursor)
    }
}

fn parse_turn(text: &str) -> Option<PartialTurn> {
    let mut numbers = text.split(':');
    let turn = PartialTurn {
        restarts: numbers.next()?.parse().ok()?,
        length: numbers.next()?.parse().ok()?,
        hash: Hash(u32::from_str_radix(numbers.next()?, 16).ok()?),
        voided: match numbers.next() {
            Some(number) => number.parse().ok()?,
            None => 0,
        },
        verified: false,
    };
    numbers.next().is_none().then_some(turn)
}

/// An event as it is sent.
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
    /// Steps whose text is not sent, see [`withheld`].
    withheld: BTreeSet<String>,
}

impl Reader {
    /// A reader at this position. The journaled entries before it only update the running totals.
    pub(super) fn resuming(cursor: Cursor, past: &[Entry]) -> Self {
        let mut reader = Self {
            cursor,
            ..Self::default()
        };
        reader.withhold(past.iter().map(|entry| &entry.event));
        let seq = reader.cursor.seq;
        for entry in past.iter().filter(|entry| entry.seq <= seq) {
            reader.envelopes.wrap(&entry.event);
            reader.note_end(&entry.event);
        }
        reader
    }

    /// Takes note of the texts that these events withhold.
    pub(super) fn withhold<'a>(&mut self, events: impl IntoIterator<Item = &'a Event>) {
        self.withheld.extend(withheld::steps(events));
    }

    /// The last journaled entry that was received.
    pub(super) fn seq(&self) -> u64 {
        self.cursor.seq
    }

    /// Whether the reader has received the end of the debate.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Compares hashes again for turns in progress: another process may be running the debate now.
    pub(super) fn mark_unverified(&mut self) {
        for turn in self.cursor.turns.values_mut() {
            turn.verified = false;
        }
    }

    /// Entries up to this one were received or are not sent to readers.
    fn skip_to(&mut self, seq: u64) {
        self.cursor.seq = self.cursor.seq.max(seq);
    }

    /// The events that a journaled entry adds.
    pub(super) fn entry(&mut self, seq: u64, event: &Event) -> Vec<Frame> {
        if seq <= self.cursor.seq {
            return Vec::new();
        }
        self.note_end(event);
        let redacted = withheld::redacted(event, &self.withheld);
        let event = redacted.as_ref().unwrap_or(event);
        let mut is_known = false;
        let mut frames = Vec::new();
        match event {
            Event::RoundStarted { round, .. } => is_known = self.cursor.rounds.remove(round),
            // Sent when the step finished the first time.
            Event::StepFinished(step) if step.reused => {}
            Event::StepFinished(step) => {
                frames = self.finish_turn(step);
                self.cursor.turns.remove(&step.call.step);
            }
            Event::StepFailed(step) => drop(self.cursor.turns.remove(&step.call.step)),
            Event::Opened(_)
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::Ended(_)
            | Event::Reopened { .. }
            | Event::Superseded(_)
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. }
            | Event::Said(_)
            | Event::Asked(_)
            | Event::Decided(_) => {}
        }
        self.cursor.seq = seq;
        frames.extend(self.wrap(event).filter(|_| !is_known));
        frames
    }

    /// All events after the reader's position. `None` if entries are no longer in memory and the journal has to be read
    /// first.
    pub(super) fn catch_up(&mut self, live: &Live) -> Option<Vec<Frame>> {
        let mut frames = Vec::new();
        if self.cursor.seq < live.durable {
            let notices = live.entries_after(self.cursor.seq)?;
            self.withhold(notices.iter().map(|notice| &notice.event));
            for notice in notices {
                let seq = notice.seq.unwrap_or_default();
                frames.extend(self.entry(seq, &notice.event));
            }
            self.skip_to(live.durable);
        }
        // The journal may be ahead of the live state, with a turn finished there that is still in progress here. The next
        // notice brings the live state up to date.
        if self.cursor.seq == live.durable {
            frames.extend(self.live_frames(live));
        }
        Some(frames)
    }

    /// Events that are not journaled yet. The reader must be exactly at the last journaled entry.
    fn live_frames(&mut self, live: &Live) -> Vec<Frame> {
        let mut frames = Vec::new();
        for notice in &live.announced {
            if let Event::RoundStarted { round, .. } = notice.event
                && self.cursor.rounds.insert(round)
            {
                frames.extend(self.wrap(&notice.event));
            }
        }
        for turn in &live.turns {
            frames.extend(self.turn_frames(turn));
            if let Some(part) = self.cursor.turns.get_mut(&turn.step) {
                part.verified = true;
            }
        }
        frames
    }

    /// The rest of a turn that has been journaled.
    fn finish_turn(&mut self, step: &FinishedStep) -> Vec<Frame> {
        let call = &step.call;
        if let Some(part) = self.cursor.turns.get_mut(&call.step) {
            part.verified = false;
        }
        let turn = LiveTurn {
            step: call.step.clone(),
            seat: call.seat.clone(),
            round: call.round,
            model: call.model.clone(),
            restarts: self.part(&call.step).map_or(0, |part| part.restarts),
            reason: "the turn was restarted".into(),
            text: step.text.clone(),
        };
        self.turn_frames(&turn)
    }

    fn turn_frames(&mut self, turn: &LiveTurn) -> Vec<Frame> {
        let mut frames = Vec::new();
        if self.part(&turn.step).is_none() {
            self.begin_turn(turn);
            frames.extend(self.wrap(&turn.started()));
            // The turn waits for its next attempt: a reader that connects late gets the reason.
            if turn.restarts > 0 && turn.text.is_empty() {
                frames.extend(self.restart_turn(turn, 0));
            }
        }
        let part = self.part(&turn.step).unwrap_or_default();
        let is_same = part.restarts == turn.restarts;
        let rest = if let Some(rest) = part.rest(&turn.text).filter(|_| is_same) {
            rest
        } else {
            frames.extend(self.restart_turn(turn, part.voided));
            &turn.text
        };
        if !rest.is_empty() {
            if let Some(part) = self.cursor.turns.get_mut(&turn.step) {
                part.receive(rest);
            }
            frames.extend(self.wrap(&turn.chunk(rest)));
        }
        frames
    }

    fn begin_turn(&mut self, turn: &LiveTurn) {
        let part = PartialTurn {
            restarts: turn.restarts,
            ..PartialTurn::default()
        };
        self.cursor.turns.insert(turn.step.clone(), part);
    }

    /// `voided`: how often the reader was notified to discard the turn's text.
    fn restart_turn(&mut self, turn: &LiveTurn, voided: u32) -> Option<Frame> {
        self.begin_turn(turn);
        if let Some(begun) = self.cursor.turns.get_mut(&turn.step) {
            begun.voided = voided.saturating_add(1);
        }
        self.wrap(&turn.restarted())
    }

    fn part(&self, step: &str) -> Option<PartialTurn> {
        self.cursor.turns.get(step).copied()
    }

    fn wrap(&mut self, event: &Event) -> Option<Frame> {
        let envelope = self.envelopes.wrap(event)?;
        let id = self.cursor.to_string();
        Some(Frame { id, envelope })
    }

    fn note_end(&mut self, event: &Event) {
        if matches!(event, Event::Ended(_) | Event::Reopened { .. }) {
            self.has_ended = matches!(event, Event::Ended(_));
        }
    }
}

impl LiveTurn {
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
