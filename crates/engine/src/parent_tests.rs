use super::*;

fn parent() -> Parent {
    let words = |word: &str, count: usize| format!("{word} ").repeat(count).trim().to_owned();
    Parent {
        id: "p".into(),
        question: words("question", 2000),
        answer: words("answer", 5000),
        open: (0..40).map(|_| words("open", 30)).collect(),
        dissent: (0..40).map(|_| words("dissent", 30)).collect(),
        earlier: (0..40).map(|_| words("earlier", 30)).collect(),
    }
}

/// B-14: every part is bounded, and the answer has the most room.
#[test]
fn b14_a_parent_fits_its_limit() {
    for limit in [100, 300, 1000, 1500, 4000] {
        let kept = parent().within(limit);
        let tokens = kept.tokens() - HEADING_TOKENS;
        assert!(tokens <= limit, "{tokens} of {limit}");
        assert!(tokens * 10 >= limit * 9, "{tokens} of {limit}");
        let answer = tokens::count(&kept.answer);
        assert!(answer > tokens::count(&kept.question), "{limit}");
        assert!(answer * 5 >= limit * 2, "{answer} of {limit}");
    }
}

/// B-14: a short debate is passed on as it is.
#[test]
fn b14_a_short_parent_is_not_cut() {
    let short = Parent {
        id: "p".into(),
        question: "Should we use a queue?".into(),
        answer: "Yes, if the bursts are real.".into(),
        open: vec!["Nobody measured the bursts.".into()],
        dissent: vec!["Skeptic: the cost is a guess".into()],
        earlier: vec!["What is slow?".into()],
    };
    assert_eq!(short.clone().within(1500), short);
}

/// B-14: the room is an eighth of the smallest context, and at most 1,500 tokens.
#[test]
fn b14_the_room_depends_on_the_smallest_context() {
    for (context, room) in [
        (None, 1500),
        (Some(128_000), 1500),
        (Some(12_000), 1500),
        (Some(11_992), 1499),
        (Some(8_000), 1000),
        (Some(2_048), 256),
    ] {
        assert_eq!(Parent::room(context), room, "{context:?}");
    }
}

/// B-14: of a long thread, the first question and the newest ones are passed on.
#[test]
fn b14_a_thread_keeps_its_ends() {
    let questions = |count: usize| (1..=count).map(|n| format!("Q{n}")).collect::<Vec<_>>();
    assert_eq!(ends_of_thread(&questions(0)), questions(0));
    assert_eq!(ends_of_thread(&questions(4)), questions(4));
    assert_eq!(ends_of_thread(&questions(5)), ["Q1", "Q3", "Q4", "Q5"]);
    let parent = Parent {
        earlier: questions(4),
        question: "Q5".into(),
        ..parent()
    };
    assert_eq!(parent.thread(), ["Q1", "Q3", "Q4", "Q5"]);
}
