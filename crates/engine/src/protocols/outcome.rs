//! How a debate ended: complete, partial or failed, by the same rule in every protocol.

use serde::Serialize;

use crate::event::{End, State};
use crate::protocol::end_of;
use crate::table::{Halt, Missing};

pub(super) struct Outcome<'v> {
    /// Whether the verdict has an answer.
    pub(super) is_there: bool,
    /// The budget limit that ended the debate, if one did.
    pub(super) ran_out: Option<&'v str>,
    pub(super) missing: &'v [Missing],
}

impl Outcome<'_> {
    /// The end of a debate with this verdict.
    pub(super) fn end(&self, verdict: &impl Serialize) -> Result<End, Halt> {
        end_of(self.state(), self.reason(), verdict)
    }

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

    /// Why the debate is not complete.
    pub(super) fn reason(&self) -> Option<String> {
        if let Some(limit) = self.ran_out {
            return Some(limit.to_owned());
        }
        let reasons: Vec<_> = self
            .missing
            .iter()
            .map(|missing| format!("{}: {}", missing.step, missing.reason))
            .collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
