//! Whether the written answer contradicts the panel (E-22). Seats with a typed answer are counted by it; this compares the
//! positions of seats without one, such as small models, which sometimes conclude the opposite of what the panel said.

use roundtable_core::format::counted;
use roundtable_core::opposition::are_opposed;
use roundtable_core::state::{AgentStatus, DebateState};
use roundtable_core::wording::first_sentence;

/// The seats whose positions say the opposite of the answer's first sentence, and the number of seats compared.
pub(super) fn contradicted<'s>(
    state: &'s DebateState,
    answer: &str,
) -> (Vec<&'s AgentStatus>, usize) {
    let sentence = first_sentence(answer);
    let untyped = state
        .agent_status
        .iter()
        .filter(|status| status.debate_alignment.is_none());
    let compared: Vec<&AgentStatus> = untyped.collect();
    let count = compared.len();
    let opposed = compared
        .into_iter()
        .filter(|status| are_opposed(&status.position, sentence));
    (opposed.collect(), count)
}

/// The fault of an answer that contradicts more than half of the seats.
pub(super) fn fault(state: &DebateState, answer: &str) -> Option<String> {
    let (opposed, seats) = contradicted(state, answer);
    (opposed.len() * 2 > seats).then(|| {
        format!(
            "The answer says the opposite of the positions of {} of {}.",
            opposed.len(),
            counted(seats, "seat")
        )
    })
}
