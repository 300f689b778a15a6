//! How a debate ended: complete, partial or failed, by the same rule in every protocol.

use roundtable_core::format::counted;
use roundtable_core::wording::one_line;
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

    /// What a partial result lacks, as one sentence for its first line (C-21). `None` if the result is not partial.
    pub(super) fn partial_line(&self) -> Option<String> {
        if self.state() != State::Partial {
            return None;
        }
        let missing: Vec<String> = self
            .missing
            .iter()
            .take(MAX_LISTED)
            .map(described)
            .collect();
        let more = self.missing.len().saturating_sub(MAX_LISTED);
        let more = (more > 0).then(|| counted(more, "more step"));
        let missing: Vec<String> = missing.into_iter().chain(more).collect();
        let missing = (!missing.is_empty()).then(|| format!("missing: {}", missing.join("; ")));
        let limit = self.ran_out.map(one_line);
        let parts: Vec<String> = limit.into_iter().chain(missing).collect();
        Some(format!(
            "Partial: {}.",
            parts.join("; ").trim_end_matches('.')
        ))
    }

    /// The answer with [`Self::partial_line`] on top. `lowered` has the stated and the lowered confidence, as they are shown.
    pub(super) fn marked(&self, answer: &str, lowered: Option<(String, String)>) -> String {
        let Some(line) = self.partial_line() else {
            return answer.to_owned();
        };
        let confidence = lowered.map_or_else(String::new, |(stated, lowered)| {
            format!(" The confidence is lowered from {stated} to {lowered}.")
        });
        format!("**{line}**{confidence}\n\n{answer}")
    }
}

/// Further missing steps are counted.
const MAX_LISTED: usize = 3;

/// `r2/skeptic/review` → `skeptic (review, round 2): it said nothing`
fn described(missing: &Missing) -> String {
    let Missing { step, seat, reason } = missing;
    let mut parts = step.split('/');
    let round = parts.next().and_then(|first| first.strip_prefix('r'));
    let round = round.filter(|number| number.parse::<u32>().is_ok());
    let action = parts.next_back().filter(|action| action != seat);
    let place = match (action, round) {
        (Some(action), Some(round)) => format!(" ({action}, round {round})"),
        (Some(action), None) => format!(" ({action})"),
        (None, Some(round)) => format!(" (round {round})"),
        (None, None) => String::new(),
    };
    format!("{seat}{place}: {}", one_line(reason).trim_end_matches('.'))
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
