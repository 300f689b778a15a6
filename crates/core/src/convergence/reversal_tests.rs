use proptest::prelude::*;

use super::*;

#[test]
fn e19_a_reversal_by_one_word_is_detected() {
    for (a, b) in [
        (
            "We should adopt GraphQL for the API",
            "We should not adopt GraphQL for the API",
        ),
        ("We should use a queue.", "We shouldn't use a queue!"),
        (
            "Choose option A because it is cheaper",
            "Choose option B because it is cheaper",
        ),
        ("Ship in phase 1", "Ship in phase 2"),
        ("Accept the plan", "Reject the plan"),
        ("Wir sollten das tun", "Wir sollten das nicht tun"),
        ("Use a cache with a limit", "Use a cache without a limit"),
    ] {
        assert!(is_reversed(a, b), "{a} / {b}");
        assert!(is_reversed(b, a), "{b} / {a}");
    }
}

#[test]
fn e19_a_paraphrase_is_not_a_reversal() {
    for (a, b) in [
        ("Use a queue", "Use a queue"),
        ("Use a queue.", "use a QUEUE"),
        ("Use a big queue", "Use a large queue"),
        ("It is not never used", "It is used"),
        (
            "Use a queue",
            "Do not rewrite the whole billing service before summer",
        ),
        ("", ""),
    ] {
        assert!(!is_reversed(a, b), "{a} / {b}");
    }
}

proptest! {
    #[test]
    fn e19_reversal_is_symmetric_and_irreflexive(a in "[a-zA-Z' ]{0,40}", b in "[a-zA-Z' ]{0,40}") {
        prop_assert!(!is_reversed(&a, &a));
        prop_assert_eq!(is_reversed(&a, &b), is_reversed(&b, &a));
    }
}
