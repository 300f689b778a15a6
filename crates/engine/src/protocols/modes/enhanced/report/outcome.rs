//! The outcome of an enhanced debate: status, majority, security objections and decisions of people.

use roundtable_core::convergence::{self, Status};
use roundtable_core::wording::one_line;

use super::{status_tone, tone_of};
use crate::algorithm::Count;
use crate::protocols::modes::enhanced::state::{EnhancedState, PersonDecision, SecurityObjection};
use crate::protocols::modes::report::note;
use crate::protocols::modes::{ANOTHER_ROUND, Debate};
use crate::report::{Block, Section, Tone};

pub(super) fn outcome(debate: &Debate, enhanced: &EnhancedState, is_over: bool) -> Option<Section> {
    let mut blocks = consensus(debate, enhanced, is_over);
    blocks.extend(majority(enhanced));
    blocks.extend(enhanced.objections.iter().map(objection));
    blocks.extend(enhanced.decisions.iter().map(decision));
    (!blocks.is_empty()).then(|| Section::main("Outcome", blocks))
}

/// The status of the last measured round and, on consensus, the majority's position.
fn consensus(debate: &Debate, enhanced: &EnhancedState, is_over: bool) -> Vec<Block> {
    let measured = enhanced.rules.is_measured();
    let Some(last) = enhanced.rounds.last().filter(|_| measured) else {
        return Vec::new();
    };
    let status = last.decision.status;
    let mut blocks = vec![if is_over && status == Status::Continue {
        note("NO CONSENSUS", Tone::Caution)
    } else {
        note(status.shown(), status_tone(status))
    }];
    if status.is_consensus()
        && let Some(first) = last.positions.first()
    {
        let majority = convergence::majority(&enhanced.answers());
        let speaker = majority.seats.first().unwrap_or(&first.seat);
        let position = debate.last_position(speaker).unwrap_or_default();
        blocks.push(Block::Text {
            markdown: position.to_owned(),
        });
    }
    blocks
}

/// Empty if the algorithm does not count answers.
fn majority(enhanced: &EnhancedState) -> Vec<Block> {
    let Some((majority, Count::Carried(level) | Count::Open(level))) = enhanced.count() else {
        return Vec::new();
    };
    let agreeing = majority.seats.len();
    let all = agreeing + majority.minority.len();
    let answer = majority.option.map_or_else(String::new, |option| {
        format!(" on \"{}\"", one_line(&option))
    });
    let text = format!("{agreeing} of {all} seats agree{answer}: {}.", level.name());
    let dissent = majority.minority.iter().map(|(seat, answer)| {
        let answer = one_line(answer.as_deref().unwrap_or("no answer"));
        note(format!("Dissent: {seat}, {answer}"), Tone::Plain)
    });
    std::iter::once(note(text, tone_of(level)))
        .chain(dissent)
        .collect()
}

fn objection(objection: &SecurityObjection) -> Block {
    let (state, tone) = match (objection.withdrawn_round, objection.overridden_round) {
        (_, Some(round)) => (
            format!("overridden by a person after round {round}"),
            Tone::Caution,
        ),
        (Some(round), None) => (format!("withdrawn in round {round}"), Tone::Quiet),
        (None, None) => ("open".to_owned(), Tone::Critical),
    };
    let SecurityObjection { seat, text, .. } = objection;
    note(
        format!("Security objection of {seat} ({state}): {text}"),
        tone,
    )
}

fn decision(decision: &PersonDecision) -> Block {
    let person = decision.by.as_deref().unwrap_or("A person");
    let escalation = decision.escalation.name().replace('-', " ");
    let choice = match decision.choice.as_str() {
        ANOTHER_ROUND => "another round",
        choice => choice,
    };
    let reason = decision.note.as_deref();
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let text = format!(
        "{person} decided after round {}, {escalation}: {choice}{reason}.",
        decision.round
    );
    note(text, Tone::Caution)
}
