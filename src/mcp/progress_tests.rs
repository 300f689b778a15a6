use super::*;

fn speaker(seat: &str, round: u32) -> Speaker {
    Speaker {
        seat: seat.to_owned(),
        round,
    }
}

const fn planned(least: u32, most: u32) -> Planned {
    Planned { least, most }
}

#[test]
fn b02_progress_names_round_and_seats() {
    let skeptic = [speaker("skeptic", 2)];
    for (round, planned, speakers, expected) in [
        (
            2,
            Some(planned(3, 5)),
            &skeptic[..],
            "round 2 of 3–5: skeptic",
        ),
        (4, Some(planned(3, 5)), &[], "round 4 of 5"),
        (2, Some(planned(2, 2)), &[], "round 2 of 2"),
        (6, Some(planned(3, 5)), &[], "last step"),
        (0, Some(planned(3, 5)), &[], "blind vote"),
        (2, None, &skeptic[..], "step 2: skeptic"),
    ] {
        assert_eq!(sentence(round, planned, speakers), expected);
    }
}

#[test]
fn b02_a_debate_that_has_not_begun_is_starting() {
    let progress = Progress::of(None, &[], &[]);
    assert_eq!(
        (progress.percent, progress.message.as_str()),
        (0.0, "starting")
    );
}
