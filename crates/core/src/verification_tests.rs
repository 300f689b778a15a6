use super::*;

const ALL_HOLD: Answers = Answers {
    clarity: true,
    grounding: true,
    alternatives: true,
    risks: true,
    uncertainty: true,
    consistency: true,
    safety: true,
    mode_first: true,
    mode_second: true,
    high_stakes: None,
};

/// M-10: 9 questions, 10 at high stakes, never more.
#[test]
fn m10_there_are_nine_questions_or_ten() {
    assert_eq!(
        (count(Stakes::Ordinary), count(Stakes::High), MAX_QUESTIONS),
        (9, 10, 10)
    );
}

/// M-10: each answer counts; the tenth only at high stakes, where a missing answer is a no.
#[test]
fn m10_a_failed_check_is_listed_by_name() {
    assert_eq!(ALL_HOLD.failed(Stakes::Ordinary), [""; 0]);
    assert_eq!(ALL_HOLD.failed(Stakes::High), ["high_stakes"]);
    let answered = Answers {
        high_stakes: Some(true),
        ..ALL_HOLD
    };
    assert_eq!(answered.failed(Stakes::High), [""; 0]);
    let poor = Answers {
        grounding: false,
        mode_second: false,
        high_stakes: Some(false),
        ..ALL_HOLD
    };
    assert_eq!(poor.failed(Stakes::Ordinary), ["grounding", "mode_second"]);
    assert_eq!(
        poor.failed(Stakes::High),
        ["grounding", "mode_second", "high_stakes"]
    );
}
