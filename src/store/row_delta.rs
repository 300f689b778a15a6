//! What a batch of entries changes in its debate's row: a fold over the events, as every surface is.

use roundtable_core::usage::{Money, Usage};
use roundtable_engine::event::{Entry, Event, Millis, Spent, State};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tally {
    pub updated_at: Millis,
    pub state: Option<State>,
    /// Counts only with a new `state`.
    pub ended_at: Option<Millis>,
    pub generation: Option<u32>,
    pub rating: Option<u8>,
    pub calls: u64,
    pub retries: u64,
    pub usage: Usage,
    pub cost: Money,
    pub unknown_cost: bool,
}

impl Tally {
    pub(super) fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        entries.into_iter().fold(Self::default(), Self::with)
    }

    /// Whether it changes more than sums.
    pub(super) fn moves(&self) -> bool {
        self.state.is_some() || self.generation.is_some() || self.rating.is_some()
    }

    fn with(mut self, entry: &Entry) -> Self {
        self.updated_at = self.updated_at.max(entry.at);
        match &entry.event {
            Event::Opened(_) | Event::Decided(_) => self.moved_to(State::Running, entry.at),
            Event::Reopened { generation } => Self {
                generation: Some(*generation),
                ..self.moved_to(State::Running, entry.at)
            },
            Event::Ended(end) => self.moved_to(end.state, entry.at),
            Event::StepFinished(step) => self.spending(&step.call.spent),
            Event::StepFailed(step) => self.spending(&step.call.spent),
            Event::Asked(_) => self.moved_to(State::Waiting, entry.at),
            Event::Rated { rating, .. } => Self {
                rating: Some(*rating),
                ..self
            },
            Event::RoundStarted { .. }
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::Said(_)
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. } => self,
        }
    }

    fn moved_to(self, state: State, at: Millis) -> Self {
        let ended_at = match state {
            State::Queued | State::Running | State::Waiting => None,
            State::Complete | State::Partial | State::Failed | State::Cancelled => Some(at),
        };
        Self {
            state: Some(state),
            ended_at,
            ..self
        }
    }

    fn spending(self, spent: &Spent) -> Self {
        Self {
            calls: self.calls + u64::from(spent.calls),
            retries: self.retries + u64::from(spent.retries),
            usage: self.usage + spent.usage,
            cost: self.cost + spent.cost.unwrap_or(Money::ZERO),
            // A step that failed before it called anyone cost nothing, and that is known.
            unknown_cost: self.unknown_cost || (spent.cost.is_none() && spent.calls > 0),
            ..self
        }
    }
}

/// The tag that the event carries in JSON, in a column of its own for queries.
pub(super) fn kind(event: &Event) -> &'static str {
    match event {
        Event::Opened(_) => "opened",
        Event::RoundStarted { .. } => "round_started",
        Event::Noted { .. } => "noted",
        Event::StepStarted { .. } => "step_started",
        Event::Chunk { .. } => "chunk",
        Event::StepRestarted { .. } => "step_restarted",
        Event::StepFinished(_) => "step_finished",
        Event::StepFailed(_) => "step_failed",
        Event::Ended(_) => "ended",
        Event::Reopened { .. } => "reopened",
        Event::Rated { .. } => "rated",
        Event::Resolved { .. } => "resolved",
        Event::Tracked { .. } => "tracked",
        Event::Assessed { .. } => "assessed",
        Event::Said(_) => "said",
        Event::Asked(_) => "asked",
        Event::Decided(_) => "decided",
    }
}
