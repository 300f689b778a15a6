use super::*;

/// P-06: phrases that the question itself uses do not count.
#[test]
fn p06_traces_of_the_debate_are_found() {
    assert_eq!(
        traces_of_debate("As the Skeptic noted, it leaks.", "Does it leak?"),
        ["the skeptic"]
    );
    assert!(traces_of_debate("It leaks.", "Does it leak?").is_empty());
    assert!(
        traces_of_debate(
            "The skeptic Sextus Empiricus held that …",
            "What did the skeptic Sextus hold?"
        )
        .is_empty()
    );
}
