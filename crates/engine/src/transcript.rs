//! A debate in the form that the terminal, the pages and the exports show, for every protocol. A fold over the journal.

use std::collections::HashMap;

use roundtable_core::timing::busy;
use roundtable_core::value::RoundValue;
use serde::Serialize;

use crate::event::{
    Call, Decision, End, Entry, Event, FailedStep, FinishedStep, InsteadOf, Millis, Query, Setup,
    Spent, State,
};
use crate::journal::current;
use crate::remarks::for_people;
use crate::round_value;
use crate::rules;
pub use crate::rules::Planned;
use crate::table::{CONTINUE, STOP, span_of};
use crate::totals::Totals;
use crate::withheld;

/// Seats, rounds, turns, usage and state of a debate.
///
/// It can be built from any prefix of a journal, so it also shows a debate that is running, and it never needs the protocol:
/// turns are grouped by the first part of their step names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transcript {
    pub id: String,
    pub question: String,
    pub protocol: String,
    pub state: State,
    /// Why it is not complete, for people.
    pub reason: Option<String>,
    /// The protocol's stop reason, if it has one.
    pub stop_reason: Option<String>,
    pub opened_at: Millis,
    /// When the last entry was written.
    pub changed_at: Millis,
    pub ended_at: Option<Millis>,
    /// Active time. Pauses between two sessions do not count.
    pub busy_ms: u64,
    pub seats: Vec<SeatSummary>,
    pub embedder: Option<String>,
    pub planned: Option<Planned>,
    pub rounds: Vec<Round>,
    pub totals: Totals,
    pub rating: Option<Rating>,
    /// The decision the debate waits for.
    pub waiting_for: Option<Query>,
    /// The debate that it follows up on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentLink>,
    /// The last journal entry included.
    pub seq: u64,
}

/// The debate before a follow-up; it may have been deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParentLink {
    pub id: String,
    /// As the seats read it.
    pub question: String,
}

/// A seat and its model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeatSummary {
    pub seat: String,
    pub title: String,
    pub model: String,
}

/// A round, or a phase outside the rounds such as the synthesis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// The prefix of its step names: `r2`, `synthesis`.
    pub key: String,
    /// `None` for a phase outside the rounds.
    pub number: Option<u32>,
    /// The protocol's name for it: `opening`.
    pub name: String,
    /// The question that the user set for the round (M-14).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    pub busy_ms: u64,
    /// By start time.
    pub turns: Vec<Turn>,
    /// Messages and decisions of people during the round.
    pub voices: Vec<Voice>,
    /// The expected gain and cost of another round (B-10).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<RoundValue>,
}

/// A message or a decision of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Voice {
    pub at: Millis,
    pub seq: u64,
    pub by: Option<String>,
    /// The question, if this is a decision.
    pub decides: Option<String>,
    pub text: String,
}

/// An item of a round, see [`Round::items`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Item<'a> {
    Turn(&'a Turn),
    Voice(&'a Voice),
}

/// A step as readers see it: a seat's text, or the reason for its absence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    pub step: String,
    pub seat: String,
    pub title: String,
    pub model: String,
    /// The model that was asked first, if a fallback model answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<InsteadOf>,
    /// The model that put the seat's words into the required form, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescued_by: Option<String>,
    pub round: u32,
    pub started_at: Millis,
    /// Of its journal entry.
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
        /// Rules the reply still broke after it was sent back.
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
    /// `None` if the journal has no first entry.
    pub fn of(id: &str, entries: &[Entry]) -> Option<Self> {
        let entries = &*current(entries);
        let (opening, setup) = entries
            .iter()
            .find_map(|entry| Some((entry, entry.event.setup()?)))?;
        let mut transcript = Self::opened(id, opening.at, setup);
        let withheld = withheld::steps(entries.iter().map(|entry| &entry.event));
        for entry in entries {
            match withheld::redacted(&entry.event, &withheld) {
                Some(event) => transcript.apply(&Entry { event, ..*entry }),
                None => transcript.apply(entry),
            }
        }
        transcript.totals = Totals::of(entries);
        transcript.busy_ms = busy(entries.iter().filter_map(span_of));
        for round in &mut transcript.rounds {
            round.focus = round.number.and_then(|number| rules::focus(setup, number));
        }
        transcript.finish(entries);
        Some(transcript)
    }

    fn opened(id: &str, at: Millis, setup: &Setup) -> Self {
        let seats = setup.seats.iter().map(|seated| SeatSummary {
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
            seats: seats.collect(),
            embedder: setup.embedder.clone(),
            planned: Planned::of(setup),
            rounds: Vec::new(),
            totals: Totals::default(),
            rating: None,
            waiting_for: None,
            parent: setup.parent.as_ref().map(|parent| ParentLink {
                id: parent.id.clone(),
                question: parent.question.clone(),
            }),
            seq: 0,
        }
    }

    fn apply(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        self.changed_at = entry.at;
        match &entry.event {
            Event::RoundStarted { round, name } => {
                name.clone_into(&mut self.round_of(&format!("r{round}")).name);
            }
            Event::StepFinished(step) => self.finished(step),
            Event::StepFailed(step) => self.failed(step),
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
            Event::Said(words) => self.add_voice(Voice {
                at: entry.at,
                seq: entry.seq,
                by: words.by.clone(),
                decides: None,
                text: words.text.clone(),
            }),
            Event::Noted { key, value, .. } => {
                if let Some((round, value)) = round_value::of_note(key, value) {
                    self.round_of(&format!("r{round}")).value = Some(value);
                }
            }
            Event::Asked(query) => {
                self.state = State::Waiting;
                self.waiting_for = Some(query.clone());
            }
            Event::Decided(decision) => self.decided(entry, decision),
            _ => {}
        }
    }

    fn decided(&mut self, entry: &Entry, decision: &Decision) {
        let query = self.waiting_for.take();
        self.state = State::Running;
        let note = decision.note.as_deref().map(|note| format!(": {note}"));
        self.add_voice(Voice {
            at: entry.at,
            seq: entry.seq,
            by: decision.by.clone(),
            decides: Some(query.map_or_else(String::new, |query| query.question)),
            text: format!(
                "{}{}",
                option_label(&decision.choice),
                note.unwrap_or_default()
            ),
        });
    }

    /// Adds to the current round.
    fn add_voice(&mut self, voice: Voice) {
        if self.rounds.is_empty() {
            self.round_of("r1");
        }
        if let Some(round) = self.rounds.last_mut() {
            round.voices.push(voice);
        }
    }

    fn finished(&mut self, step: &FinishedStep) {
        let outcome = Outcome::Said {
            text: step.text.clone(),
            remarks: step
                .all_remarks()
                .iter()
                .map(|remark| for_people(remark).to_owned())
                .collect(),
        };
        let turn = self.add_turn(&step.call, outcome);
        turn.instead_of.clone_from(&step.instead_of);
        turn.rescued_by.clone_from(&step.rescued_by);
    }

    fn failed(&mut self, step: &FailedStep) {
        let reason = step.reason.clone();
        self.add_turn(&step.call, Outcome::Absent { reason });
    }

    /// A retried step replaces its failure.
    fn add_turn(&mut self, call: &Call, outcome: Outcome) -> &mut Turn {
        let title = self.title_of(&call.seat);
        let turn = Turn {
            step: call.step.clone(),
            seat: call.seat.clone(),
            title,
            model: call.model.clone(),
            instead_of: None,
            rescued_by: None,
            round: call.round,
            started_at: call.started_at,
            seq: self.seq,
            spent: call.spent,
            outcome,
        };
        let turns = &mut self.round_of(group_of(&call.step)).turns;
        let known = turns.iter().position(|earlier| earlier.step == turn.step);
        let index = known.unwrap_or(turns.len());
        if known.is_some() {
            turns[index] = turn;
        } else {
            turns.push(turn);
        }
        &mut turns[index]
    }

    fn ended(&mut self, at: Millis, end: &End) {
        self.state = end.state;
        self.reason.clone_from(&end.reason);
        self.ended_at = Some(at);
        self.waiting_for = None;
        self.stop_reason = end.stop_reason().map(str::to_owned);
    }

    /// Drops failures after the last successful step: they are about to be retried.
    fn reopened(&mut self) {
        self.state = State::Running;
        self.reason = None;
        self.stop_reason = None;
        self.ended_at = None;
        let last_success = self
            .turns()
            .filter(|turn| turn.text().is_some())
            .map(|turn| turn.seq)
            .max();
        for round in &mut self.rounds {
            round
                .turns
                .retain(|turn| turn.text().is_some() || Some(turn.seq) < last_success);
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
                focus: None,
                busy_ms: 0,
                turns: Vec::new(),
                voices: Vec::new(),
                value: None,
            });
            self.rounds.len() - 1
        });
        &mut self.rounds[index]
    }

    /// Sorts turns by start time, because parallel steps are journaled as they finish, and measures the rounds.
    fn finish(&mut self, entries: &[Entry]) {
        let order: HashMap<String, usize> = (0..)
            .zip(&self.seats)
            .map(|(index, summary)| (summary.seat.clone(), index))
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
        // Seats that speak in turn vote blind while the first ones speak; the vote comes before the rounds.
        self.rounds.sort_by_key(|round| round.number != Some(0));
        for round in &mut self.rounds {
            round
                .turns
                .sort_by_key(|turn| (turn.started_at, order.get(&turn.seat).copied()));
            let spans = spans.get(&round.key).into_iter().flatten();
            round.busy_ms = busy(spans.copied());
        }
    }

    /// The state that surfaces show, if they know more than the journal: a running debate may be queued again, or its process
    /// may have died.
    #[must_use]
    pub fn shown_as(mut self, state: State) -> Self {
        if let State::Queued | State::Interrupted = state {
            self.state = state;
        }
        self
    }

    pub fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.rounds.iter().flat_map(|round| &round.turns)
    }

    pub fn turn(&self, step: &str) -> Option<&Turn> {
        self.turns().find(|turn| turn.step == step)
    }

    /// The seat's title in its cast, such as `Skeptic`.
    pub fn title_of(&self, seat: &str) -> String {
        self.seats
            .iter()
            .find(|summary| summary.seat == seat)
            .map_or_else(|| capital(seat), |summary| summary.title.clone())
    }

    pub fn model_of(&self, seat: &str) -> Option<&str> {
        let summary = self.seats.iter().find(|summary| summary.seat == seat)?;
        Some(&summary.model)
    }

    /// Whether a limit on tokens, cost or time ended it.
    pub fn ran_out(&self) -> bool {
        self.stop_reason.as_deref() == Some("budget")
    }

    pub fn is_over(&self) -> bool {
        match self.state {
            State::Queued | State::Running | State::Waiting => false,
            State::Complete
            | State::Partial
            | State::Failed
            | State::Cancelled
            | State::Interrupted => true,
        }
    }
}

impl Round {
    /// `Round 2`, `Blind vote`, `Synthesis`
    pub fn title(&self) -> String {
        match self.number {
            Some(0) => "Blind vote".to_owned(),
            Some(number) => format!("Round {number}"),
            None => capital(&self.name),
        }
    }

    /// Turns and voices by time.
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
        // Stable: turns that started together keep their order.
        items.sort_by_key(|(at, _)| *at);
        items.into_iter().map(|(_, item)| item).collect()
    }

    /// The protocol's name for a numbered round.
    pub fn epithet(&self) -> Option<&str> {
        (self.number.is_some() && !self.name.is_empty()).then(|| round_label(&self.name))
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

/// A round's name for people.
pub fn round_label(name: &str) -> &str {
    match name {
        "objection" => "critical objections",
        other => other,
    }
}

/// The round or phase of a step: the first part of its name.
fn group_of(step: &str) -> &str {
    step.split('/').next().unwrap_or(step)
}

fn number_of(key: &str) -> Option<u32> {
    key.strip_prefix('r')?.parse().ok()
}

/// The label of an option that a person chooses from: `another-round` → `Another round`. Texts keep their wording.
pub fn option_label(option: &str) -> String {
    let is_identifier = option.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    match option {
        CONTINUE => "Continue".to_owned(),
        STOP => "End debate".to_owned(),
        other if is_identifier => capital(&other.replace('-', " ")),
        other => capital(other),
    }
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
