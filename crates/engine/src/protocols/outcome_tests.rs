use super::*;

fn missing() -> Missing {
    Missing {
        step: "r1/skeptic/review".into(),
        seat: "skeptic".into(),
        reason: "it said nothing".into(),
    }
}

/// C-06: a debate with missing steps is not complete; one that a budget limit ended is partial, whatever it has.
#[test]
fn c06_state_and_reason_follow_from_answer_limit_and_missing_steps() {
    let absent = [missing(), missing()];
    let reasons = "r1/skeptic/review: it said nothing; r1/skeptic/review: it said nothing";
    let limit = "10 tokens are used up";
    for (is_there, ran_out, missing, state, reason) in [
        (true, None, &[][..], State::Complete, None),
        (true, None, &absent[..], State::Partial, Some(reasons)),
        (false, None, &[], State::Failed, None),
        (false, None, &absent, State::Failed, Some(reasons)),
        (true, Some(limit), &[], State::Partial, Some(limit)),
        (false, Some(limit), &absent, State::Partial, Some(limit)),
    ] {
        let outcome = Outcome {
            is_there,
            ran_out,
            missing,
        };
        assert_eq!(outcome.state(), state);
        assert_eq!(outcome.reason().as_deref(), reason);
    }
}

/// C-21: the answer of a partial debate begins with what is missing and the lowered confidence; others stay as they are.
#[test]
fn c21_a_partial_answer_says_what_is_missing() {
    let absent = [missing(), missing(), missing(), missing(), missing()];
    let outcome = |missing, ran_out| Outcome {
        is_there: true,
        ran_out,
        missing,
    };
    assert_eq!(outcome(&[], None).partial_line(), None);
    assert_eq!(outcome(&[], None).marked("Yes.", None), "Yes.");
    assert_eq!(
        outcome(&absent[..1], None).marked("Yes.", Some(("8".into(), "6".into()))),
        "**Partial: missing: skeptic (review, round 1): it said nothing.** The confidence is lowered from 8 to 6.\n\nYes."
    );
    let three = outcome(&absent[..3], None).partial_line().unwrap();
    assert!(!three.contains("more"), "{three}");
    let five = outcome(&absent, None).partial_line().unwrap();
    assert!(five.ends_with("; 2 more steps."), "{five}");
    assert_eq!(
        outcome(&[], Some("10 tokens are used up"))
            .partial_line()
            .unwrap(),
        "Partial: 10 tokens are used up."
    );
}

#[test]
fn a_missing_step_is_described_by_seat_action_and_round() {
    for (step, seat, text) in [
        (
            "r1/skeptic/review",
            "skeptic",
            "skeptic (review, round 1): it failed",
        ),
        (
            "synthesis/chair/conclude",
            "chair",
            "chair (conclude): it failed",
        ),
        ("r2/judge", "judge", "judge (round 2): it failed"),
    ] {
        let missing = Missing {
            step: step.into(),
            seat: seat.into(),
            reason: "it failed.".into(),
        };
        assert_eq!(described(&missing), text);
    }
}
