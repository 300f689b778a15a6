use super::*;

#[test]
fn the_short_form_fits_five_lines_with_and_without_a_headline() {
    let long = "This sentence has exactly fifty characters, it does. ".repeat(30);
    let answer = VerdictAnswer::new(&long);
    assert!(answer.short.chars().count() <= 350, "{}", answer.short);
    assert_eq!(answer.full, long);
    let headed = answer.headed("Use a queue");
    assert_eq!(headed.headline.as_deref(), Some("Use a queue"));
    assert!(headed.short.chars().count() <= 270, "{}", headed.short);
    assert!(headed.short.ends_with(" …"), "{}", headed.short);
}

#[test]
fn a_headline_that_repeats_the_answer_is_left_out() {
    let answer = VerdictAnswer::new("Use a queue.").headed("use a queue");
    assert_eq!(answer.headline, None);
    assert_eq!(answer.brief(), "Use a queue.");
    assert_eq!(
        VerdictAnswer::new("It keeps the load low.")
            .headed("Use a queue")
            .brief(),
        "Use a queue\nIt keeps the load low."
    );
}

#[test]
fn a_lowered_confidence_says_so_first() {
    let confidence = VerdictConfidence::new(0.5, "5 of 10").because(Some("few figures"));
    assert_eq!(confidence.reason.as_deref(), Some("few figures"));
    let lowered = confidence.lowered_from("7 of 10");
    assert!(lowered.is_lowered);
    assert_eq!(
        lowered.reason.as_deref(),
        Some("lowered from 7 of 10 because answers are missing; few figures")
    );
}
