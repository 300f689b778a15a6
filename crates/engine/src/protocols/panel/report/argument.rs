//! The argument of a panel: each answer with what its readers said of it, and the points on which answers contradict each other.

use roundtable_core::wording::one_line;

use crate::protocols::panel::replies::Point;
use crate::protocols::panel::verdict::{PanelAnswer, PanelRanking, Verdict};
use crate::report::{Argument, ArgumentPoint, Cell, Episode, Tone};

pub(super) fn argument(verdict: &Verdict) -> Argument {
    let contradictions = (1..).zip(&verdict.contradictions);
    let contradictions =
        contradictions.map(|(number, point)| contradiction(verdict, number, point));
    // Equal answers that were not compared have no story.
    let is_compared = verdict.ranking.is_some() || !verdict.contradictions.is_empty();
    let mut answers: Vec<&PanelAnswer> = verdict.answers.iter().filter(|_| is_compared).collect();
    answers.sort_by_key(|answer| (answer.place.unwrap_or(usize::MAX), answer.label.clone()));
    let answers = answers
        .into_iter()
        .map(|answer| answer_point(answer, verdict.ranking.as_ref()));
    Argument {
        points: contradictions.chain(answers).collect(),
        moves: Vec::new(),
    }
}

fn contradiction(verdict: &Verdict, number: usize, point: &Point) -> ArgumentPoint {
    let held = verdict.answers.iter().filter(|answer| {
        let mut labels = point.answers.iter();
        labels.any(|label| label.trim().eq_ignore_ascii_case(&answer.label))
    });
    let held = held.map(|answer| {
        let action = format!("answered {}", answer.label);
        Episode::new(1, &answer.seat, action).because(&answer.position)
    });
    ArgumentPoint::new(
        &format!("X{number}"),
        &one_line(&point.text),
        Cell::new("contradictory").toned(Tone::Caution),
    )
    .labelled("contradiction")
    .told(held)
}

fn answer_point(answer: &PanelAnswer, ranking: Option<&PanelRanking>) -> ArgumentPoint {
    let outcome = match answer.place {
        Some(1) => Cell::new("place 1").toned(Tone::Good),
        Some(place) => Cell::new(format!("place {place}")),
        None => Cell::new("not ranked").toned(Tone::Quiet),
    };
    let given = Episode::new(1, &answer.seat, "answered");
    let readers = ranking.map_or(&[][..], |ranking| &ranking.readers);
    let read = readers.iter().filter_map(|reader| {
        let places = (1..).zip(&reader.ranking);
        let mut places = places.filter(|(_, ranked)| ranked.answer == answer.label);
        let (place, ranked) = places.next()?;
        let action = format!("gave it place {place} of {}", reader.shown.len());
        Some(Episode::new(2, &reader.seat, action).because(&ranked.reason))
    });
    ArgumentPoint::new(&answer.label, &answer.position, outcome)
        .told(std::iter::once(given).chain(read))
}
