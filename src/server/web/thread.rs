//! The thread of a debate on its page: the debates before it, its follow-ups, and the form that asks the next question.

use roundtable_engine::protocols;
use roundtable_engine::report::{NextAction, Report};
use roundtable_engine::transcript::Transcript;

use super::Choice;
use super::form_key::new_key;
use crate::format::short;
use crate::render;
use crate::store::{self, DebateRow};

/// Length of a question in a thread, in characters.
const MAX_QUESTION: usize = 160;

#[derive(Default)]
pub(crate) struct ThreadView {
    pub(super) before: Vec<Link>,
    /// The question of a parent that was deleted, or that the visitor may not see.
    pub(super) lost: Option<String>,
    pub(super) follow_ups: Vec<Link>,
    /// The protocols that a follow-up can have; empty if none can be asked.
    pub(super) protocols: Vec<Choice>,
    /// Of the form that asks the next question.
    pub(super) form_key: String,
}

pub(super) struct Link {
    pub(super) id: String,
    pub(super) question: String,
    pub(super) state: &'static str,
}

impl ThreadView {
    pub(crate) fn new(transcript: &Transcript, thread: &store::Thread) -> Self {
        let parent = transcript.parent.as_ref();
        let is_there = |id: &str| thread.before.iter().any(|row| row.id.to_string() == id);
        let lost = parent.filter(|parent| !is_there(&parent.id));
        Self {
            before: thread.before.iter().map(Link::new).collect(),
            lost: lost.map(|parent| short(&parent.question, MAX_QUESTION)),
            follow_ups: thread.follow_ups.iter().map(Link::new).collect(),
            protocols: Vec::new(),
            form_key: new_key(),
        }
    }

    /// With the form, if the debate has a result to follow up on.
    #[must_use]
    pub(crate) fn asking(mut self, protocol: &str, report: &Report) -> Self {
        let actions = report.verdict.iter().flat_map(|verdict| &verdict.actions);
        if actions
            .into_iter()
            .any(|action| *action == NextAction::FollowUp)
        {
            let usual = protocols::of_follow_up(protocol).name();
            let choices = protocols::for_questions().map(|protocol| Choice {
                value: protocol.name().to_owned(),
                label: protocol.title().to_owned(),
                is_chosen: protocol.name() == usual,
            });
            self.protocols = choices.collect();
        }
        self
    }

    pub(super) fn is_shown(&self) -> bool {
        !(self.before.is_empty() && self.lost.is_none() && self.follow_ups.is_empty())
    }
}

impl Link {
    fn new(row: &DebateRow) -> Self {
        Self {
            id: row.id.to_string(),
            question: short(&row.question, MAX_QUESTION),
            state: render::state_word(row.state),
        }
    }
}
