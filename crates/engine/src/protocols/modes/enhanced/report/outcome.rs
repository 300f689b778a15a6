//! The outcome of an enhanced debate: status, majority, security objections and decisions of people.

use roundtable_core::convergence::Status;
use roundtable_core::wording::one_line;

use super::{status_tone, tone_of};
use crate::algorithm::Count;
use crate::protocols::modes::ANOTHER_ROUND;
use crate::protocols::modes::enhanced::escalation::OVERRIDE;
use crate::protocols::modes::enhanced::state::{EnhancedState, PersonDecision, SecurityObjection};
use crate::protocols::modes::enhanced::verdict::EnhancedVerdict;
use crate::protocols::modes::report::note;
use crate::report::{Block, Section, Tone};

/// `verdict` is `None` while the debate runs.
pub(super) fn outcome(
    enhanced: &EnhancedState,
    verdict: Option<&EnhancedVerdict>,
) -> Option<Section> {
    let mut blocks: Vec<Block> = status(enhanced, verdict.is_some()).into_iter().collect();
    let chosen = enhanced.decisions.last();
    let is_chosen = chosen.is_some_and(|decision| {
        decision.overrides() && decision.choice != OVERRIDE && verdict.is_some()
    });
    let answer = verdict.and_then(|verdict| verdict.answer.as_deref());
    match answer.filter(|_| is_chosen) {
        Some(answer) => blocks.push(note(
            format!(
                "Decided by a person: {}.",
                one_line(answer).trim_end_matches('.')
            ),
            Tone::Caution,
        )),
        None => blocks.extend(majority(enhanced)),
    }
    let position = verdict.and_then(|verdict| verdict.position.clone());
    blocks.extend(position.map(|markdown| Block::Text { markdown }));
    let dissent = verdict.iter().flat_map(|verdict| &verdict.minority);
    blocks.extend(dissent.map(|apart| {
        let answer = one_line(apart.answer.as_deref().unwrap_or("no answer"));
        note(format!("Dissent: {}, {answer}", apart.agent), Tone::Plain)
    }));
    blocks.extend(enhanced.objections.iter().map(objection));
    blocks.extend(enhanced.decisions.iter().map(decision));
    (!blocks.is_empty()).then(|| Section::main("Outcome", blocks))
}

/// The status of the last measured round.
fn status(enhanced: &EnhancedState, is_over: bool) -> Option<Block> {
    let measured = enhanced.rules.is_measured();
    let last = enhanced.rounds.last().filter(|_| measured)?;
    let status = last.decision.status;
    Some(if is_over && status == Status::Continue {
        note("NO CONSENSUS", Tone::Caution)
    } else {
        note(status.shown(), status_tone(status))
    })
}

/// `None` if the algorithm does not count answers.
fn majority(enhanced: &EnhancedState) -> Option<Block> {
    let (majority, Count::Carried(level) | Count::Open(level)) = enhanced.count()?;
    let agreeing = majority.seats.len();
    let all = agreeing + majority.minority.len();
    let answer = majority.option.map_or_else(String::new, |option| {
        format!(" on \"{}\"", one_line(&option))
    });
    let text = format!("{agreeing} of {all} seats agree{answer}: {}.", level.name());
    Some(note(text, tone_of(level)))
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
