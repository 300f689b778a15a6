use super::*;

/// P-06: phrases that the question itself uses do not count.
#[test]
fn p06_traces_of_the_debate_are_found() {
    assert_eq!(
        traces_of_debate("As the Skeptic noted, it leaks.", "Does it leak?"),
        ["the skeptic"]
    );
    for (trace, found) in [
        ("In the debate it was shown that it leaks.", "in the debate"),
        ("It leaks; S1 is resolved.", "S1"),
        ("S12 remains open.", "S12"),
    ] {
        assert_eq!(traces_of_debate(trace, "Does it leak?"), [found]);
    }
    for innocent in [
        "It leaks.",
        "In round 2 the champion fell.",
        "Store it in S3; S3 is cheap.",
        "The USS1 is resolved to sail.",
    ] {
        let found = traces_of_debate(innocent, "Does it leak?");
        assert!(found.is_empty(), "{innocent}: {found:?}");
    }
    assert!(
        traces_of_debate(
            "The skeptic Sextus Empiricus held that …",
            "What did the skeptic Sextus hold?"
        )
        .is_empty()
    );
}
