use super::*;

/// M-03: people read the fault, not the instruction to the model.
#[test]
fn m03_the_instruction_is_left_out() {
    for (remark, shown) in [
        (
            "labels: [FACT] without a citation: \"It rains. Often.\". Cite a reference of your list.",
            "labels: [FACT] without a citation: \"It rains. Often.\".",
        ),
        (
            "citations: \"(a)\" is not a citation. Write [1], [1][2] or [1-3]",
            "citations: \"(a)\" is not a citation.",
        ),
        (
            "structure: the heading \"Risks\" is missing in the argument.",
            "structure: the heading \"Risks\" is missing in the argument.",
        ),
        (
            "citations: and 7 more of the same.",
            "citations: and 7 more of the same.",
        ),
        ("about 0.5 of it. yes", "about 0.5 of it. yes"),
    ] {
        assert_eq!(for_people(remark), shown);
    }
}

/// Texts for a model or a validator are not shown to people.
#[test]
fn reasons_are_told_in_plain_words() {
    let reasons = [
        (
            "sent back: evidence: N1 rests on nothing: name its evidence in `backing`, or say that it is SPECULATIVE.",
            "the reply was sent back: a claim has no evidence",
        ),
        (
            "sent back: Write the answer without naming the debate.",
            "the reply was sent back: it breaks a rule of the debate",
        ),
        (
            "The reply is not a JSON object: expected ident at line 1 column 2",
            "the model answered in prose instead of the required form",
        ),
        (
            "sent back: The reply does not fit the schema: /vote: \"MAINTAIN\" is not valid under any of the schemas",
            "the reply does not have the required form",
        ),
        (
            "skipped: circuit breaker open (lab keeps failing; next attempt in 30 s)",
            "not asked: lab keeps failing",
        ),
        (
            "the server failed with status 500 (lab:x)",
            "the server failed with status 500 (lab:x)",
        ),
    ];
    for (reason, expected) in reasons {
        assert_eq!(plain_reason(reason), expected);
    }
}

/// C-06: a missing turn is named in words, with its reason.
#[test]
fn c06_a_missing_turn_is_named_in_words() {
    let missing = |step: &str, reason: &str| Missing {
        step: step.into(),
        seat: "judge".into(),
        reason: reason.into(),
    };
    assert_eq!(
        missing("r1/proposer/propose", "cannot reach the server (gone)").sentence(),
        "No answer from the proposer in round 1: cannot reach the server (gone)."
    );
    assert_eq!(
        missing("score/judge/mark", "The reply was empty.").sentence(),
        "No answer from the judge (score): the reply was empty."
    );
}
