//! The part of a debate's record that is the same for every protocol: state, rating, models and totals, folded from the journal.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::event::{End, Entry, Event, Millis, Seated, Setup, State};
use crate::fallbacks::{StandIn, fallbacks, notices};
use crate::totals::Totals;

pub(super) struct RecordHeader<'j> {
    pub(super) id: String,
    /// When the debate was opened, RFC 3339.
    pub(super) timestamp: String,
    pub(super) setup: &'j Setup,
    /// `provider:model` by seat; a fallback that answered for the seat throughout takes the place of the model that was asked.
    pub(super) models: BTreeMap<String, String>,
    pub(super) status: DebateStatus<'j>,
    pub(super) totals: Totals,
    /// Steps that a fallback model answered.
    pub(super) answered_instead: Vec<StandIn>,
    /// See [`notices`].
    pub(super) notices: Vec<String>,
}

impl<'j> RecordHeader<'j> {
    /// `None` for a journal without its first entry.
    pub(super) fn of(id: &str, timestamp: String, entries: &'j [Entry]) -> Option<Self> {
        let setup = entries.iter().find_map(|entry| entry.event.setup())?;
        Some(Self {
            id: id.to_owned(),
            timestamp,
            setup,
            models: models(setup, entries),
            status: DebateStatus::of(entries),
            totals: Totals::of(entries),
            answered_instead: fallbacks(entries),
            notices: notices(entries),
        })
    }
}

fn models(setup: &Setup, entries: &[Entry]) -> BTreeMap<String, String> {
    let model = |seated: &Seated| {
        let finished = entries.iter().filter_map(|entry| entry.event.finished());
        let mut answered = finished
            .filter(|step| step.call.seat == seated.seat.name)
            .map(|step| &step.call.model);
        let last = answered.clone().next_back();
        if answered.any(|model| *model == seated.model) {
            return seated.model.clone();
        }
        last.unwrap_or(&seated.model).clone()
    };
    let seats = setup.seats.iter();
    seats
        .map(|seated| (seated.seat.name.clone(), model(seated)))
        .collect()
}

/// The state of a debate after the last entry of its journal.
pub(super) struct DebateStatus<'j> {
    pub(super) state: State,
    /// How the debate ended, unless it was reopened since.
    pub(super) end: Option<&'j End>,
    pub(super) ended_at: Option<Millis>,
    pub(super) user_rating: Option<u8>,
    pub(super) user_comment: Option<String>,
}

impl<'j> DebateStatus<'j> {
    pub(super) fn of(entries: &'j [Entry]) -> Self {
        let mut status = Self {
            state: State::Running,
            end: None,
            ended_at: None,
            user_rating: None,
            user_comment: None,
        };
        for entry in entries {
            status.apply(entry);
        }
        status
    }

    fn apply(&mut self, entry: &'j Entry) {
        if let Event::Ended(end) = &entry.event {
            self.state = end.state;
            self.end = Some(end);
            self.ended_at = Some(entry.at);
        } else if let Event::Reopened { .. } = &entry.event {
            self.state = State::Running;
            self.end = None;
            self.ended_at = None;
        } else if let Event::Asked(_) = &entry.event {
            self.state = State::Waiting;
        } else if let Event::Decided(_) = &entry.event {
            self.state = State::Running;
        } else if let Event::Rated {
            rating, comment, ..
        } = &entry.event
        {
            self.user_rating = Some(*rating);
            self.user_comment.clone_from(comment);
        }
    }

    /// Why the debate is not complete.
    pub(super) fn reason(&self) -> Option<String> {
        self.end?.reason.clone()
    }

    /// The protocol's verdict. `None` while the debate runs.
    pub(super) fn verdict<V: DeserializeOwned>(&self) -> Option<V> {
        V::deserialize(self.end?.result.as_ref()?).ok()
    }
}
