use roundtable_engine::report::{Argument, ArgumentPoint, Cell, Episode, SeatMove, Tone};

use roundtable_engine::event::State;

use super::*;
use crate::render::test_support::{journal, transcript};

/// P-11: a point links to the turns in which it was told; an episode without a turn has no link.
#[test]
fn p11_an_episode_links_to_its_turn() {
    let transcript = transcript(&journal(State::Complete));
    let argument = Argument {
        points: vec![
            ArgumentPoint::new("S1", "It is slow.", Cell::new("settled").toned(Tone::Good)).told([
                Episode::new(2, "proposer", "accepted it").because("<b>Measured</b>"),
                Episode::new(1, "skeptic", "raised it"),
                Episode::new(9, "skeptic", "called it settled"),
            ]),
        ],
        moves: vec![SeatMove::new(2, "proposer", "GraphQL → REST")],
    };
    let view = ArgumentView::new(&argument, &transcript, &Roles::of(&transcript));
    let point = &view.points[0];
    assert_eq!((point.anchor.as_str(), point.tone), ("point-s1", "good"));
    let story: Vec<_> = point
        .story
        .iter()
        .map(|episode| (episode.when.as_deref(), episode.step.as_deref()))
        .collect();
    assert_eq!(
        story,
        [
            (Some("Round 1"), Some("r1/skeptic/criticise")),
            (Some("Round 2"), Some("r2/proposer/revise")),
            (Some("Round 9"), None),
        ]
    );
    assert_eq!(view.moves[0].step.as_deref(), Some("r2/proposer/revise"));
    assert_eq!(view.moves[0].seat, "Proposer");
}
