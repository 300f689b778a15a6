//! How complete a debate is that was played to its end, by the same rule in every protocol.

use crate::event::State;
use crate::table::Missing;

pub(super) struct Outcome<'v> {
    /// Whether there is anything to answer with.
    pub(super) is_there: bool,
    /// Which limit of the budget ended it, if one did.
    pub(super) ran_out: Option<&'v str>,
    pub(super) missing: &'v [Missing],
}

impl Outcome<'_> {
    pub(super) fn state(&self) -> State {
        if self.ran_out.is_some() {
            State::Partial
        } else if !self.is_there {
            State::Failed
        } else if !self.missing.is_empty() {
            State::Partial
        } else {
            State::Complete
        }
    }

    /// Why it is not complete, for people.
    pub(super) fn reason(&self) -> Option<String> {
        if let Some(limit) = self.ran_out {
            return Some(limit.to_owned());
        }
        let absent = self.missing.iter();
        let absent: Vec<_> = absent
            .map(|it| format!("{}: {}", it.step, it.reason))
            .collect();
        (!absent.is_empty()).then(|| absent.join("; "))
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
