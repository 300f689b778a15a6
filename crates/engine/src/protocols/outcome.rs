//! How a debate ended: complete, partial or failed, by the same rule in every protocol.

use serde::Serialize;

use crate::event::{End, State, position};
use crate::protocol::end_of;
use crate::table::{Halt, Missing};

/// The beginning of an answer that is not complete.
const PARTIAL: &str = "**Partial:** ";

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
            .map(|missing| format!("{}: {}", position(&missing.step), missing.reason))
            .collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// The first line of an answer that is not complete: what is missing. `None` for a complete one, and without an answer.
    pub(super) fn partial_line(&self) -> Option<String> {
        if self.state() != State::Partial || !self.is_there {
            return None;
        }
        let limit = self.ran_out.map(str::to_owned);
        let absent = (!self.missing.is_empty()).then(|| absences(self.missing));
        let parts: Vec<String> = limit.into_iter().chain(absent).collect();
        Some(format!("{PARTIAL}{}.", parts.join("; ")))
    }

    /// The answer with [`Self::partial_line`] on top. `lowered` has the stated and the lowered confidence, as they are shown.
    pub(super) fn marked(&self, answer: &str, lowered: Option<(String, String)>) -> String {
        let Some(line) = self.partial_line() else {
            return answer.to_owned();
        };
        let confidence = lowered.map_or_else(String::new, |(stated, lowered)| {
            format!(" The confidence is lowered from {stated} to {lowered}.")
        });
        format!("{line}{confidence}\n\n{answer}")
    }
}

/// The answer without the line that marks it as partial.
pub(super) fn unmarked(answer: &str) -> &str {
    let marked = answer.strip_prefix(PARTIAL);
    let text = marked.and_then(|rest| Some(rest.split_once("\n\n")?.1));
    text.unwrap_or(answer)
}

/// The absent seats with their rounds: `the skeptic was absent in rounds 1 and 2; the judge was absent (score)`.
pub(super) fn absences(missing: &[Missing]) -> String {
    let mut seats: Vec<&str> = Vec::new();
    for step in missing {
        if !seats.contains(&step.seat.as_str()) {
            seats.push(&step.seat);
        }
    }
    let parts = seats.into_iter().map(|seat| {
        let steps = missing.iter().filter(|step| step.seat == seat);
        let steps: Vec<Missing> = steps.cloned().collect();
        let when = rounds_and_phases(&steps);
        format!("the {} was absent{when}", seat.replace(['-', '_'], " "))
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// When these steps of one seat were due: ` in rounds 1 and 2 (score)`.
pub(super) fn rounds_and_phases(steps: &[Missing]) -> String {
    let mut rounds: Vec<u32> = Vec::new();
    let mut phases: Vec<&str> = Vec::new();
    for step in steps {
        let group = step.step.split('/').next().unwrap_or_default();
        match group.strip_prefix('r').and_then(|round| round.parse().ok()) {
            Some(round) if rounds.contains(&round) => {}
            Some(round) => rounds.push(round),
            None => phases.push(group),
        }
    }
    rounds.sort_unstable();
    let numbers: Vec<String> = rounds.iter().map(u32::to_string).collect();
    let rounds = match numbers.as_slice() {
        [] => String::new(),
        [only] => format!(" in round {only}"),
        [first @ .., last] => format!(" in rounds {} and {last}", first.join(", ")),
    };
    if phases.is_empty() {
        return rounds;
    }
    format!("{rounds} ({})", phases.join(", "))
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
