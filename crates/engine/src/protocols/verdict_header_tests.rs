use super::*;
use crate::report::BadgeKind;

fn kind_and_tone(scrutiny: Option<&Scrutiny>) -> (BadgeKind, Tone) {
    let badge = badge(scrutiny);
    (badge.kind, badge.tone)
}

/// C-22: only an answer whose objections are all settled is good; one that was not challenged is red.
#[test]
fn c22_the_tone_of_a_badge_says_what_happened() {
    let settled = Scrutiny::challenged(4, 0);
    assert_eq!(
        badge(Some(&settled)).text,
        "Challenged: 4 objections, 4 settled"
    );
    assert_eq!(
        kind_and_tone(Some(&settled)),
        (BadgeKind::Challenged, Tone::Good)
    );
    let open = Scrutiny::challenged(4, 1);
    assert_eq!(badge(Some(&open)).text, "Challenged: 4 objections, 1 open");
    assert_eq!(
        kind_and_tone(Some(&open)),
        (BadgeKind::Contested, Tone::Caution)
    );
    let blind = Scrutiny::Unanimous;
    assert_eq!(
        kind_and_tone(Some(&blind)),
        (BadgeKind::Unanimous, Tone::Caution)
    );
    let none = Scrutiny::not_challenged("the critic was absent");
    assert_eq!(
        kind_and_tone(Some(&none)),
        (BadgeKind::NotChallenged, Tone::Critical)
    );
    assert_eq!(kind_and_tone(None), (BadgeKind::Unknown, Tone::Quiet));
}

#[test]
fn the_first_action_is_the_one_that_helps() {
    for (state, ran_out, has_failures, first) in [
        (State::Complete, false, false, NextAction::Read),
        (State::Partial, true, false, NextAction::RaiseLimit),
        (State::Partial, false, true, NextAction::Retry),
        (State::Failed, false, true, NextAction::Retry),
        (State::Failed, false, false, NextAction::Resume),
        (State::Interrupted, false, false, NextAction::Resume),
        (State::Waiting, false, false, NextAction::Decide),
        (State::Running, false, false, NextAction::Read),
    ] {
        assert_eq!(actions(state, ran_out, has_failures)[0], first, "{state:?}");
    }
}
