use super::*;

fn mark(value: u8) -> OutOfTen {
    OutOfTen::new(value).unwrap()
}

fn limits() -> Limits {
    Limits {
        min_rounds: 3,
        max_rounds: 5,
        early_stop_score: mark(8),
    }
}

fn assessment(quality: u8, ready: bool) -> Assessment {
    Assessment {
        quality: mark(quality),
        ready,
    }
}

/// P-05: every condition on both sides of its boundary, and their order.
#[test]
fn p05_stop_conditions_in_their_order() {
    let cases = [
        // round, skeptic, open critical issues → stop
        (1, Some(assessment(2, true)), 3, Some(Stop::SkepticReady)),
        (1, Some(assessment(8, false)), 3, Some(Stop::EarlyStopScore)),
        (1, Some(assessment(7, false)), 0, None),
        (2, Some(assessment(7, false)), 0, None),
        (
            3,
            Some(assessment(7, false)),
            0,
            Some(Stop::NoCriticalIssue),
        ),
        (3, Some(assessment(7, false)), 1, None),
        (4, Some(assessment(7, false)), 1, None),
        (5, Some(assessment(7, false)), 1, Some(Stop::RoundCap)),
        (5, Some(assessment(7, false)), 0, Some(Stop::RoundCap)),
        (5, Some(assessment(9, true)), 0, Some(Stop::SkepticReady)),
        (5, Some(assessment(9, false)), 0, Some(Stop::EarlyStopScore)),
        (3, None, 0, None),
        (5, None, 0, Some(Stop::RoundCap)),
    ];
    for (round, skeptic, open, expected) in cases {
        assert_eq!(
            after_round(round, skeptic, open, &limits()),
            expected,
            "round {round}, {skeptic:?}, {open} open"
        );
    }
}

/// P-05: `early_stopped` is true only before the cap, even when the skeptic was ready in the last round.
#[test]
fn p05_a_stop_in_the_last_round_is_not_early() {
    assert!(stopped_early(4, &limits()));
    assert!(!stopped_early(5, &limits()));
}
