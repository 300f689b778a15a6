use super::*;

fn missing() -> Missing {
    Missing {
        step: "r1/skeptic/review".into(),
        seat: "skeptic".into(),
        reason: "it said nothing".into(),
    }
}

/// C-06: complete is only what nobody was missing from; what a limit ended is partial, whatever there is of it.
#[test]
fn c06_how_complete_a_debate_is() {
    let absent = [missing(), missing()];
    let said = "r1/skeptic/review: it said nothing; r1/skeptic/review: it said nothing";
    let limit = "10 tokens are used up";
    for (is_there, ran_out, missing, state, reason) in [
        (true, None, &[][..], State::Complete, None),
        (true, None, &absent[..], State::Partial, Some(said)),
        (false, None, &[], State::Failed, None),
        (false, None, &absent, State::Failed, Some(said)),
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
