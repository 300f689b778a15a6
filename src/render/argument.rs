//! The argument of a debate by its points: each with its story, and links to the turns in which it was told.

use roundtable_engine::report::{Argument, ArgumentPoint, Episode, SeatMove};
use roundtable_engine::transcript::Transcript;

use super::blocks::tone_class;
use super::roles::Roles;

pub(crate) struct ArgumentView {
    pub points: Vec<PointView>,
    pub moves: Vec<EpisodeView>,
}

pub(crate) struct PointView {
    /// Fragment identifier.
    pub anchor: String,
    pub id: String,
    pub text: String,
    pub label: Option<String>,
    pub outcome: String,
    pub tone: &'static str,
    pub story: Vec<EpisodeView>,
}

/// An episode of a story, or the move of a seat.
pub(crate) struct EpisodeView {
    /// `Round 2`
    pub when: Option<String>,
    /// Colour of the seat.
    pub class: String,
    pub seat: String,
    /// The turn on the page.
    pub step: Option<String>,
    pub action: String,
    pub reason: Option<String>,
}

impl ArgumentView {
    pub(crate) fn new(argument: &Argument, transcript: &Transcript, roles: &Roles) -> Self {
        let points = argument.points.iter();
        let moves = argument.moves.iter();
        Self {
            points: points
                .map(|point| PointView::new(point, transcript, roles))
                .collect(),
            moves: moves
                .map(|moved| EpisodeView::of_move(moved, transcript, roles))
                .collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty() && self.moves.is_empty()
    }
}

impl PointView {
    fn new(point: &ArgumentPoint, transcript: &Transcript, roles: &Roles) -> Self {
        let story = point.story.iter();
        Self {
            anchor: format!("point-{}", point.id.to_lowercase()),
            id: point.id.clone(),
            text: point.text.clone(),
            label: point.label.clone(),
            outcome: point.outcome.text.clone(),
            tone: tone_class(point.outcome.tone),
            story: story
                .map(|episode| EpisodeView::of_story(episode, transcript, roles))
                .collect(),
        }
    }
}

impl EpisodeView {
    fn of_story(episode: &Episode, transcript: &Transcript, roles: &Roles) -> Self {
        let told = (episode.seat.as_str(), episode.round);
        Self {
            action: episode.action.clone(),
            reason: episode.reason.clone(),
            ..Self::told(told, transcript, roles)
        }
    }

    fn of_move(moved: &SeatMove, transcript: &Transcript, roles: &Roles) -> Self {
        let told = (moved.seat.as_str(), Some(moved.round));
        Self {
            action: moved.text.clone(),
            reason: moved.reason.clone(),
            ..Self::told(told, transcript, roles)
        }
    }

    fn told((seat, round): (&str, Option<u32>), transcript: &Transcript, roles: &Roles) -> Self {
        Self {
            when: round.map(|round| format!("Round {round}")),
            class: roles.class(seat),
            seat: transcript.title_of(seat),
            step: step_of(transcript, seat, round),
            action: String::new(),
            reason: None,
        }
    }
}

/// The seat's turn in the round, or its first one outside the rounds.
fn step_of(transcript: &Transcript, seat: &str, round: Option<u32>) -> Option<String> {
    let mut rounds = transcript.rounds.iter();
    let turns = rounds.find_map(|played| {
        let turns = (played.number == round).then_some(&played.turns)?;
        turns.iter().find(|turn| turn.seat == seat)
    });
    turns.map(|turn| turn.step.clone())
}

#[cfg(test)]
#[path = "argument_tests.rs"]
mod tests;
