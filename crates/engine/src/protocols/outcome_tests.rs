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
