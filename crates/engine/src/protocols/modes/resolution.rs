//! The decision of a debate, its wording, its holders and its dissenters (C-21, E-22), and whether it was challenged (C-22).
//! Computed once, for the verdict; every surface reads it from there.

use std::collections::BTreeSet;

use roundtable_core::convergence::{self, Answer, Group};
use roundtable_core::format::counted;
use roundtable_core::state::ClaimStatus;
use roundtable_core::votes::Exit;
use roundtable_core::wording::one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::debate::{Debate, RoundKind};
use super::verdict::{Ending, Poll};
use crate::protocols::scrutiny::Scrutiny;
use crate::retrospective::DissentingOpinion;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// The answer that a person chose or accepted, otherwise that of a consensus or of more than half of the seats. `None` if the
    /// panel is divided and no person decided.
    pub decision: Option<String>,
    /// The decision in the words of its most confident holder.
    pub position: Option<String>,
    /// Whether a person ended the debate with this decision.
    pub by_person: bool,
    pub holders: Vec<String>,
    /// All other seats that spoke. Empty without a decision.
    pub dissenters: Vec<MinorityPosition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MinorityPosition {
    pub agent: String,
    pub answer: Option<String>,
    pub position: String,
}

impl MinorityPosition {
    pub(crate) fn into_dissent(self) -> DissentingOpinion {
        DissentingOpinion {
            agent: self.agent,
            position: self.position,
            rationale: self.answer,
        }
    }
}

impl Resolution {
    pub(super) fn of(debate: &Debate, ending: &Ending) -> Self {
        let answers = answers(debate);
        let by_person = matches!(
            ending,
            Ending::Accepted | Ending::BlockerOverridden | Ending::Chosen(_)
        );
        let has_agreed = match ending {
            Ending::Accepted
            | Ending::BlockerOverridden
            | Ending::Exit(Exit::Consensus)
            | Ending::Converged(_)
            | Ending::ConvergedWithoutEvidence(_) => true,
            Ending::Chosen(_)
            | Ending::Exit(_)
            | Ending::Budget(_)
            | Ending::NotWorthIt(_)
            | Ending::SeatsAbsent => false,
        };
        let (decision, holders) = match (ending, debate.panel_decision()) {
            (Ending::Chosen(choice), _) => (Some(one_line(choice)), holders_of(&answers, choice)),
            // The algorithm counts answers: its majority is the decision, if it is sufficient.
            (_, Some(counted)) if !by_person && counted.answer.is_none() => (None, Vec::new()),
            _ if has_agreed => leading(&answers, 0),
            _ => leading(&answers, answers.len() / 2),
        };
        let has_options = answers.iter().any(|answer| answer.option.is_some());
        // Seats that agree without naming an answer: their position is the decision.
        if has_agreed && !has_options {
            let holders: Vec<String> = answers
                .iter()
                .filter(|answer| answer.vote.agrees())
                .map(|answer| answer.seat.clone())
                .collect();
            let position = most_confident(debate, &holders);
            return Self::new(debate, &answers, position, holders, by_person);
        }
        Self::new(debate, &answers, decision, holders, by_person)
    }

    fn new(
        debate: &Debate,
        answers: &[Answer],
        decision: Option<String>,
        holders: Vec<String>,
        by_person: bool,
    ) -> Self {
        let dissenters = answers
            .iter()
            .filter(|answer| decision.is_some() && !holders.contains(&answer.seat))
            .map(|answer| MinorityPosition {
                agent: answer.seat.clone(),
                answer: answer.option.clone(),
                position: position_of(debate, &answer.seat).unwrap_or_default(),
            })
            .collect();
        Self {
            position: most_confident(debate, &holders).or_else(|| decision.clone()),
            decision,
            by_person,
            holders,
            dissenters,
        }
    }
}

/// The last answer of each seat.
fn answers(debate: &Debate) -> Vec<Answer> {
    if let Some(enhanced) = &debate.enhanced {
        return enhanced.answers();
    }
    let statuses = debate.state.agent_status.iter();
    statuses
        .map(|status| Answer {
            seat: status.agent.clone(),
            option: status.debate_alignment.clone(),
            vote: status.vote,
            stance: status.stance,
            probability: None,
            position: status.position.clone(),
        })
        .collect()
}

fn holders_of(answers: &[Answer], choice: &str) -> Vec<String> {
    let found = convergence::groups(answers)
        .into_iter()
        .find(|group| convergence::same_option(&group.option, choice));
    found.map_or_else(Vec::new, |group| group.seats)
}

/// The answer of the largest group of accepting seats, if it has more than `min` seats and no other is as large.
fn leading(answers: &[Answer], min: usize) -> (Option<String>, Vec<String>) {
    let accepting: Vec<Answer> = answers
        .iter()
        .filter(|answer| answer.vote.agrees())
        .cloned()
        .collect();
    let groups: Vec<Group> = convergence::groups(&accepting);
    match groups.as_slice() {
        [first, rest @ ..]
            if first.seats.len() > min
                && rest
                    .first()
                    .is_none_or(|next| next.seats.len() < first.seats.len()) =>
        {
            (Some(first.option.clone()), first.seats.clone())
        }
        _ => (None, Vec::new()),
    }
}

fn position_of(debate: &Debate, seat: &str) -> Option<String> {
    let mut statuses = debate.state.agent_status.iter();
    let status = statuses.find(|status| status.agent == seat);
    status.map(|status| status.position.clone())
}

/// The position of the most confident of these seats; on a tie the first.
fn most_confident(debate: &Debate, seats: &[String]) -> Option<String> {
    let statuses = debate.state.agent_status.iter();
    let among = statuses.filter(|status| seats.contains(&status.agent));
    // `max_by` takes the last.
    let most = among.rev().max_by(|a, b| {
        let (a, b) = (a.confidence.value(), b.confidence.value());
        a.total_cmp(&b)
    });
    most.map(|status| status.position.clone())
}

/// Whether the answer was challenged (C-22): by objections to claims and by BLOCKERs.
pub(super) fn scrutiny(debate: &Debate, blind: &Poll) -> Scrutiny {
    let changes = debate.rounds.iter().map(|round| &round.changes);
    let challenged: BTreeSet<&String> = changes
        .flat_map(|changes| changes.touched.values())
        .flat_map(|touched| &touched.challenged)
        .collect();
    let objections = challenged.len() + debate.state.blockers.len();
    if objections > 0 {
        let contested = debate.state.claims.iter().filter(|claim| {
            claim.status == ClaimStatus::Contested && challenged.contains(&claim.id)
        });
        let open = contested.count() + debate.state.open_blockers().count();
        return Scrutiny::challenged(objections, open);
    }
    let speakers = debate.state.agent_status.len();
    let rounds = debate
        .rounds
        .iter()
        .filter(|round| !round.turns.is_empty())
        .count();
    let asked_for_objections = debate
        .rounds
        .iter()
        .any(|round| round.kind == RoundKind::Objection && !round.turns.is_empty());
    if speakers < 2 {
        Scrutiny::not_challenged(format!("{} spoke", counted(speakers, "seat")))
    } else if asked_for_objections {
        Scrutiny::not_challenged("a round of critical objections brought none")
    } else if blind.answers.len() == 1 && blind.agreement == Some(1.0) {
        Scrutiny::Unanimous
    } else {
        Scrutiny::not_challenged(format!("no seat objected in {}", counted(rounds, "round")))
    }
}
