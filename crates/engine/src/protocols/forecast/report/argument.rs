//! The argument of a forecast: the arguments that other roles took up, and the roles that moved.

use roundtable_core::format::percent;

use super::{label, likeliest, probability_of};
use crate::protocols::forecast::extras::ArgumentNote;
use crate::protocols::forecast::rules::Rules;
use crate::protocols::forecast::verdict::Verdict;
use crate::report::{Argument, ArgumentPoint, Cell, Episode, SeatMove};

/// Smaller changes of a probability are no move.
const MIN_MOVE: f64 = 0.02;

pub(super) fn argument(rules: &Rules, verdict: &Verdict) -> Argument {
    let notes = &verdict.roundtable.arguments;
    let points = notes.iter().filter_map(|note| point(verdict, notes, note));
    Argument {
        points: points.collect(),
        moves: moves(rules, verdict),
    }
    .sorted()
}

fn point(verdict: &Verdict, notes: &[ArgumentNote], note: &ArgumentNote) -> Option<ArgumentPoint> {
    let answers: Vec<Episode> = notes
        .iter()
        .filter(|other| other.role != note.role && other.refers_to.contains(&note.id))
        .map(|other| Episode::new(other.round, &other.role, "answered it").because(&other.gist))
        .collect();
    if answers.is_empty() {
        return None;
    }
    let outcome = match score(verdict, note) {
        Some(score) => format!("score {score:.2}"),
        None => "not scored".to_owned(),
    };
    let raised = Episode::new(note.round, &note.role, "raised it");
    let raised = note
        .score_reason
        .iter()
        .map(|reason| Episode::new(None, "scorer", "scored it").because(reason))
        .chain([raised]);
    Some(ArgumentPoint::new(&note.id, &note.gist, Cell::new(outcome)).told(raised.chain(answers)))
}

fn score(verdict: &Verdict, note: &ArgumentNote) -> Option<f64> {
    let mut rounds = verdict.debate_log.rounds.iter();
    let round = rounds.find(|round| round.round_number == note.round)?;
    let mut arguments = round.arguments.iter();
    let logged = arguments.find(|argument| argument.role == note.role)?;
    logged.scores.as_ref()?.get("composite")?.as_f64()
}

/// The changes of each role's probability of the likeliest outcome.
fn moves(rules: &Rules, verdict: &Verdict) -> Vec<SeatMove> {
    let Some(outcome) = likeliest(verdict) else {
        return Vec::new();
    };
    let notes = &verdict.roundtable.arguments;
    let moved = notes.iter().filter_map(|to| {
        let own = notes
            .iter()
            .filter(|from| from.role == to.role && from.round < to.round);
        let from = own.max_by_key(|from| from.round)?;
        let before = probability_of(&from.probabilities, &outcome.outcome_id)?;
        let after = probability_of(&to.probabilities, &outcome.outcome_id)?;
        if (after - before).abs() < MIN_MOVE {
            return None;
        }
        let text = format!(
            "{}: {} → {}",
            label(rules, &outcome.outcome_id),
            percent(before),
            percent(after)
        );
        let reason = reason(notes, to);
        Some(SeatMove::new(to.round, &to.role, text).because(Some(&reason)))
    });
    moved.collect()
}

/// The points of other roles that the argument names.
fn reason(notes: &[ArgumentNote], to: &ArgumentNote) -> String {
    let named = notes
        .iter()
        .filter(|other| other.role != to.role && to.refers_to.contains(&other.id))
        .map(|other| format!("{}: {}", other.id, other.gist))
        .collect::<Vec<_>>();
    if named.is_empty() {
        "named no point of another role".to_owned()
    } else {
        format!("answers {}", named.join("; "))
    }
}
