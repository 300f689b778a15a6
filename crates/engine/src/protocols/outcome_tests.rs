use super::*;

fn missing() -> Missing {
    Missing {
        step: "r1/skeptic/review".into(),
        seat: "skeptic".into(),
        reason: "it said nothing".into(),
    }
}

/// C-06: a debate with missing steps is not complete; one that a budget limit ended is partial in any case.
#[test]
fn c06_state_and_reason_follow_from_answer_limit_and_missing_steps() {
    let absent = [missing(), missing()];
    let reasons =
        "the skeptic in round 1: it said nothing; the skeptic in round 1: it said nothing";
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

/// C-21: the first line of a partial answer names who was absent and when, and the limit that ended it.
#[test]
fn c21_the_first_line_of_a_partial_answer_says_what_is_missing() {
    let at = |step: &str, seat: &str| Missing {
        step: step.into(),
        seat: seat.into(),
        reason: "gone".into(),
    };
    let missing = [
        at("r2/skeptic/review", "skeptic"),
        at("r1/skeptic/criticise", "skeptic"),
        at("r1/data_hawk/speak", "data_hawk"),
        at("score/judge/mark", "judge"),
    ];
    let line = |is_there, ran_out, missing| {
        Outcome {
            is_there,
            ran_out,
            missing,
        }
        .partial_line()
    };
    assert_eq!(
        line(true, Some("the limit of 5 tokens is reached"), &missing).unwrap(),
        "**Partial:** the limit of 5 tokens is reached; the skeptic was absent in rounds 1 and 2; the data hawk was absent in \
         round 1; the judge was absent (score)."
    );
    assert_eq!(line(true, None, &[]), None);
    assert_eq!(line(false, None, &missing), None);
}

/// C-21: the answer of a partial debate begins with what is missing and the lowered confidence; others stay as they are.
#[test]
fn c21_a_partial_answer_says_what_is_missing() {
    let absent = [missing()];
    let outcome = |missing| Outcome {
        is_there: true,
        ran_out: None,
        missing,
    };
    assert_eq!(outcome(&[]).marked("Yes.", None), "Yes.");
    assert_eq!(
        outcome(&absent).marked("Yes.", Some(("8".into(), "6".into()))),
        "**Partial:** the skeptic was absent in round 1. The confidence is lowered from 8 to 6.\n\nYes."
    );
}
