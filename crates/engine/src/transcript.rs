//! A debate as every surface reads it, whatever its protocol: who sat there, what was said in which round, what it used,
//! how it stands. Folded from the journal, at any moment of it.

use std::collections::HashMap;

use roundtable_core::timing::busy;
use serde::Serialize;

use crate::event::{
    Call, Decision, End, Entry, Event, FailedStep, FinishedStep, InsteadOf, Millis, Query, Setup,
    Spent, State,
};
use crate::table::span_of;
use crate::totals::Totals;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transcript {
    pub id: String,
    pub question: String,
    pub protocol: String,
    pub state: State,
    /// Why it is not complete, for people.
    pub reason: Option<String>,
    /// The protocol's own word for why it ended, where it gives one.
    pub stop_reason: Option<String>,
    pub opened_at: Millis,
    /// When the last entry was written.
    pub changed_at: Millis,
    pub ended_at: Option<Millis>,
    /// Time in which something ran: pauses between two halves do not count.
    pub busy_ms: u64,
    pub seats: Vec<Place>,
    pub embedder: Option<String>,
    /// How many rounds there may be, where the rules say so.
    pub planned: Option<Planned>,
    pub rounds: Vec<Round>,
    pub totals: Totals,
    pub rating: Option<Rating>,
    /// What a person is to decide before it goes on.
    pub waiting_for: Option<Query>,
    /// The last entry of the journal that is told here.
    pub seq: u64,
}

/// A seat and the model in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    pub seat: String,
    pub title: String,
    pub model: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Planned {
    pub least: u32,
    pub most: u32,
}

/// A round, or a phase outside the rounds such as the synthesis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// What its steps' names begin with: `r2`, `synthesis`.
    pub key: String,
    /// `None` for a phase outside the rounds.
    pub number: Option<u32>,
    /// The protocol's word for it: `opening`.
    pub name: String,
    pub busy_ms: u64,
    /// In the order in which they began.
    pub turns: Vec<Turn>,
    /// What people said and decided meanwhile.
    pub voices: Vec<Voice>,
}

/// A person's words or decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Voice {
    pub at: Millis,
    pub seq: u64,
    pub by: Option<String>,
    /// The question that was decided, where it was a decision.
    pub decides: Option<String>,
    pub text: String,
}

/// What a transcript goes through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Item<'a> {
    Turn(&'a Turn),
    Voice(&'a Voice),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    pub step: String,
    pub seat: String,
    pub title: String,
    pub model: String,
    /// The model that was asked, where another answered, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<InsteadOf>,
    pub round: u32,
    pub started_at: Millis,
    /// Where the journal has it.
    pub seq: u64,
    pub spent: Spent,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Said {
        text: String,
        /// Rules the reply broke even after it was sent back.
        remarks: Vec<String>,
    },
    /// The seat was absent for this step (C-06).
    Absent { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rating {
    pub rating: u8,
    pub comment: Option<String>,
}

impl Transcript {
    /// `None` for a journal without its first entry.
    pub fn of(id: &str, entries: &[Entry]) -> Option<Self> {
        let (opening, setup) = entries
            .iter()
            .find_map(|entry| Some((entry, entry.event.setup()?)))?;
        let mut transcript = Self::opened(id, opening.at, setup);
        for entry in entries {
            transcript.take_up(entry);
        }
        transcript.totals = Totals::of(entries);
        transcript.busy_ms = busy(entries.iter().filter_map(span_of));
        transcript.settle(entries);
        Some(transcript)
    }

    fn opened(id: &str, at: Millis, setup: &Setup) -> Self {
        let places = setup.seats.iter().map(|seated| Place {
            seat: seated.seat.name.clone(),
            title: seated.seat.title.clone(),
            model: seated.model.clone(),
        });
        Self {
            id: id.to_owned(),
            question: setup.question.clone(),
            protocol: setup.protocol.clone(),
            state: State::Running,
            reason: None,
            stop_reason: None,
            opened_at: at,
            changed_at: at,
            ended_at: None,
            busy_ms: 0,
            seats: places.collect(),
            embedder: setup.embedder.clone(),
            planned: Planned::of(setup),
            rounds: Vec::new(),
            totals: Totals::default(),
            rating: None,
            waiting_for: None,
            seq: 0,
        }
    }

    fn take_up(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        self.changed_at = entry.at;
        match &entry.event {
            Event::RoundStarted { round, name } => {
                name.clone_into(&mut self.round_of(&format!("r{round}")).name);
            }
            Event::StepFinished(step) => self.said(step),
            Event::StepFailed(step) => self.absent(step),
            Event::Ended(end) => self.ended(entry.at, end),
            Event::Reopened { .. } => self.reopened(),
            Event::Rated {
                rating, comment, ..
            } => {
                self.rating = Some(Rating {
                    rating: *rating,
                    comment: comment.clone(),
                });
            }
            Event::Said(words) => self.voice(Voice {
                at: entry.at,
                seq: entry.seq,
                by: words.by.clone(),
                decides: None,
                text: words.text.clone(),
            }),
            Event::Asked(query) => {
                self.state = State::Waiting;
                self.waiting_for = Some(query.clone());
            }
            Event::Decided(decision) => self.decided(entry, decision),
            Event::Opened(_)
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. } => {}
        }
    }

    fn decided(&mut self, entry: &Entry, decision: &Decision) {
        let query = self.waiting_for.take();
        self.state = State::Running;
        let note = decision.note.as_deref().map(|note| format!(": {note}"));
        self.voice(Voice {
            at: entry.at,
            seq: entry.seq,
            by: decision.by.clone(),
            decides: Some(query.map_or_else(String::new, |query| query.question)),
            text: format!("{}{}", decision.choice, note.unwrap_or_default()),
        });
    }

    /// In the round that is being played.
    fn voice(&mut self, voice: Voice) {
        if self.rounds.is_empty() {
            self.round_of("r1");
        }
        if let Some(round) = self.rounds.last_mut() {
            round.voices.push(voice);
        }
    }

    fn said(&mut self, step: &FinishedStep) {
        let outcome = Outcome::Said {
            text: step.text.clone(),
            remarks: step.remarks.clone(),
        };
        self.put(&step.call, step.instead_of.clone(), outcome);
    }

    fn absent(&mut self, step: &FailedStep) {
        let reason = step.reason.clone();
        self.put(&step.call, None, Outcome::Absent { reason });
    }

    /// A step that is tried again takes the place of its failure.
    fn put(&mut self, call: &Call, instead_of: Option<InsteadOf>, outcome: Outcome) {
        let title = self.title_of(&call.seat);
        let turn = Turn {
            step: call.step.clone(),
            seat: call.seat.clone(),
            title,
            model: call.model.clone(),
            instead_of,
            round: call.round,
            started_at: call.started_at,
            seq: self.seq,
            spent: call.spent,
            outcome,
        };
        let turns = &mut self.round_of(group_of(&call.step)).turns;
        match turns.iter_mut().find(|earlier| earlier.step == turn.step) {
            Some(earlier) => *earlier = turn,
            None => turns.push(turn),
        }
    }

    fn ended(&mut self, at: Millis, end: &End) {
        self.state = end.state;
        self.reason.clone_from(&end.reason);
        self.ended_at = Some(at);
        self.waiting_for = None;
        let word = end.result.as_ref().map(|result| &result["stop_reason"]);
        self.stop_reason = word.and_then(|word| word.as_str()).map(str::to_owned);
    }

    /// Failures after the last good step no longer count: they are about to be tried again.
    fn reopened(&mut self) {
        self.state = State::Running;
        self.reason = None;
        self.stop_reason = None;
        self.ended_at = None;
        let last_good = self
            .turns()
            .filter(|turn| turn.text().is_some())
            .map(|turn| turn.seq)
            .max();
        for round in &mut self.rounds {
            round
                .turns
                .retain(|turn| turn.text().is_some() || Some(turn.seq) < last_good);
        }
    }

    fn round_of(&mut self, key: &str) -> &mut Round {
        let index = self.rounds.iter().position(|round| round.key == key);
        let index = index.unwrap_or_else(|| {
            let number = number_of(key);
            self.rounds.push(Round {
                key: key.to_owned(),
                number,
                name: if number.is_some() {
                    String::new()
                } else {
                    key.to_owned()
                },
                busy_ms: 0,
                turns: Vec::new(),
                voices: Vec::new(),
            });
            self.rounds.len() - 1
        });
        &mut self.rounds[index]
    }

    /// Seats that speak side by side are journaled as they finish; they are told in the order in which they began.
    fn settle(&mut self, entries: &[Entry]) {
        let order: HashMap<String, usize> = (0..)
            .zip(&self.seats)
            .map(|(index, place)| (place.seat.clone(), index))
            .collect();
        let mut spans: HashMap<String, Vec<(Millis, Millis)>> = HashMap::new();
        for entry in entries {
            if let (Some(key), Some(span)) = (entry.event.key(0), span_of(entry)) {
                let group = group_of(&key).to_owned();
                spans.entry(group).or_default().push(span);
            }
        }
        self.rounds
            .retain(|round| round.number.is_some() || !round.items().is_empty());
        for round in &mut self.rounds {
            round
                .turns
                .sort_by_key(|turn| (turn.started_at, order.get(&turn.seat).copied()));
            let spans = spans.get(&round.key).into_iter().flatten();
            round.busy_ms = busy(spans.copied());
        }
    }

    pub fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.rounds.iter().flat_map(|round| &round.turns)
    }

    pub fn turn(&self, step: &str) -> Option<&Turn> {
        self.turns().find(|turn| turn.step == step)
    }

    /// `Skeptic`, as its cast writes it.
    pub fn title_of(&self, seat: &str) -> String {
        self.seats
            .iter()
            .find(|place| place.seat == seat)
            .map_or_else(|| capital(seat), |place| place.title.clone())
    }

    pub fn model_of(&self, seat: &str) -> Option<&str> {
        let place = self.seats.iter().find(|place| place.seat == seat)?;
        Some(&place.model)
    }

    /// Whether a limit on tokens, money or time ended it.
    pub fn ran_out(&self) -> bool {
        self.stop_reason.as_deref() == Some("budget")
    }

    pub fn is_over(&self) -> bool {
        match self.state {
            State::Queued | State::Running | State::Waiting => false,
            State::Complete | State::Partial | State::Failed | State::Cancelled => true,
        }
    }
}

impl Planned {
    /// Protocols that play in rounds name the least and the greatest number of them in their rules.
    pub fn of(setup: &Setup) -> Option<Self> {
        let number = |key: &str| u32::try_from(setup.rules[key].as_u64()?).ok();
        let most = number("max_rounds").or_else(|| number("rounds"))?;
        Some(Self {
            least: number("min_rounds").unwrap_or(most),
            most,
        })
    }
}

impl Round {
    /// `Round 2`, `Synthesis`
    pub fn title(&self) -> String {
        self.number
            .map_or_else(|| capital(&self.name), |number| format!("Round {number}"))
    }

    /// Turns and what people said between them, in order of time.
    pub fn items(&self) -> Vec<Item<'_>> {
        let mut items: Vec<(Millis, Item<'_>)> = self
            .turns
            .iter()
            .map(|turn| (turn.started_at, Item::Turn(turn)))
            .chain(
                self.voices
                    .iter()
                    .map(|voice| (voice.at, Item::Voice(voice))),
            )
            .collect();
        // Stable: turns that began together keep their order.
        items.sort_by_key(|(at, _)| *at);
        items.into_iter().map(|(_, item)| item).collect()
    }

    /// The protocol's word for a numbered round.
    pub fn epithet(&self) -> Option<&str> {
        (self.number.is_some() && !self.name.is_empty()).then_some(self.name.as_str())
    }
}

impl Turn {
    /// `lab:x`, or `spare:y instead of lab:x`
    pub fn answered_by(&self) -> String {
        match &self.instead_of {
            Some(asked) => format!("{} instead of {}", self.model, asked.model),
            None => self.model.clone(),
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Said { text, .. } => Some(text),
            Outcome::Absent { .. } => None,
        }
    }
}

/// The round or phase that a step's name begins with.
fn group_of(step: &str) -> &str {
    step.split('/').next().unwrap_or(step)
}

fn number_of(key: &str) -> Option<u32> {
    key.strip_prefix('r')?.parse().ok()
}

/// `synthesis` → `Synthesis`
pub fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
