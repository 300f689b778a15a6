//! The changes that a batch of entries makes to its debate's row: a fold over the events.

use roundtable_core::usage::{Money, Usage};
use roundtable_engine::event::{Entry, Event, Millis, Spent, State};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RowDelta {
    pub updated_at: Millis,
    pub state: Option<State>,
    /// Used only together with a new `state`.
    pub ended_at: Option<Millis>,
    pub generation: Option<u32>,
    pub rating: Option<u8>,
    pub calls: u64,
    pub retries: u64,
    pub usage: Usage,
    pub cost: Money,
    pub unknown_cost: bool,
}

impl RowDelta {
    pub(super) fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        entries.into_iter().fold(Self::default(), Self::apply)
    }

    /// Whether it changes more than the totals.
    pub(super) fn changes_state(&self) -> bool {
        self.state.is_some() || self.generation.is_some() || self.rating.is_some()
    }

    fn apply(mut self, entry: &Entry) -> Self {
        self.updated_at = self.updated_at.max(entry.at);
        match &entry.event {
            Event::Opened(_) | Event::Decided(_) => self.with_state(State::Running, entry.at),
            Event::Reopened { generation, .. } => Self {
                generation: Some(*generation),
                ..self.with_state(State::Running, entry.at)
            },
            Event::Ended(end) => self.with_state(end.state, entry.at),
            Event::StepFinished(step) if step.reused => self,
            Event::StepFinished(step) => self.with_spent(&step.call.spent),
            Event::StepFailed(step) => self.with_spent(&step.call.spent),
            Event::Asked(_) => self.with_state(State::Waiting, entry.at),
            Event::Rated { rating, .. } => Self {
                rating: Some(*rating),
                ..self
            },
            Event::RoundStarted { .. }
            | Event::Superseded(_)
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

    fn with_state(self, state: State, at: Millis) -> Self {
        let ended_at = match state {
            State::Queued | State::Running | State::Waiting => None,
            State::Complete
            | State::Partial
            | State::Failed
            | State::Cancelled
            | State::Interrupted => Some(at),
        };
        Self {
            state: Some(state),
            ended_at,
            ..self
        }
    }

    fn with_spent(self, spent: &Spent) -> Self {
        Self {
            calls: self.calls + u64::from(spent.calls),
            retries: self.retries + u64::from(spent.retries),
            usage: self.usage + spent.usage,
            cost: self.cost + spent.cost.unwrap_or(Money::ZERO),
            // A step that failed before any call cost nothing, which is a known cost.
            unknown_cost: self.unknown_cost || (spent.cost.is_none() && spent.calls > 0),
            ..self
        }
    }
}

/// The event's tag in JSON, stored in a column for queries.
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
        Event::Superseded(_) => "superseded",
        Event::Rated { .. } => "rated",
        Event::Resolved { .. } => "resolved",
        Event::Tracked { .. } => "tracked",
        Event::Assessed { .. } => "assessed",
        Event::Said(_) => "said",
        Event::Asked(_) => "asked",
        Event::Decided(_) => "decided",
    }
}
