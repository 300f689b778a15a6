//! Follow-ups (B-14): from the journal of a debate to the [`Parent`] of the next one.

use roundtable_core::excerpt::excerpt;

use crate::event::{Entry, State};
use crate::journal::current;
use crate::parent::Parent;
use crate::protocols;
use crate::report::Dissent;

/// Length of an open point, in characters.
const MAX_POINT: usize = 200;

/// Why a debate cannot be followed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoResult {
    #[error("it is still running")]
    Running,
    #[error("it waits for a decision")]
    Waiting,
    #[error("it was stopped before it had a result")]
    Stopped,
    #[error("it ended without an answer")]
    NoAnswer,
}

/// The debate as its follow-up reads it, with its texts in full length. `state` is the one that surfaces show.
///
/// # Errors
/// [`NoResult`] if the debate has no final answer. A draft is none: the debate may still change it.
pub fn parent(id: &str, state: State, entries: &[Entry]) -> Result<Parent, NoResult> {
    let none = match state {
        State::Queued | State::Running => return Err(NoResult::Running),
        State::Waiting => return Err(NoResult::Waiting),
        State::Cancelled | State::Interrupted => NoResult::Stopped,
        State::Complete | State::Partial | State::Failed => NoResult::NoAnswer,
    };
    let entries = &*current(entries);
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let setup = setup.ok_or(none)?;
    let verdict = protocols::verdict(entries);
    if !verdict.has_result() {
        return Err(none);
    }
    let answer = verdict.answer.ok_or(none)?;
    let points = verdict.caveats.iter();
    Ok(Parent {
        id: id.to_owned(),
        question: setup.question.clone(),
        answer: match &answer.headline {
            Some(headline) => format!("{headline}\n\n{}", answer.full),
            None => answer.full,
        },
        open: points.map(|point| excerpt(point, MAX_POINT)).collect(),
        dissent: verdict.dissent.iter().map(line_of).collect(),
        earlier: setup
            .parent
            .iter()
            .flat_map(|before| before.thread())
            .collect(),
    })
}

/// `Skeptic: the limit is a guess (major): nobody has measured it`
fn line_of(dissent: &Dissent) -> String {
    let Dissent {
        title,
        position,
        reason,
        ..
    } = dissent;
    match reason {
        Some(reason) => format!("{title}: {position}: {reason}"),
        None => format!("{title}: {position}"),
    }
}

#[cfg(test)]
#[path = "follow_up_tests.rs"]
mod tests;
