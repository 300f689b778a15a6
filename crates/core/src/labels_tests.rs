use super::*;

/// M-03: each label with and without a citation.
#[test]
fn m03_a_fact_is_cited_and_an_assumption_is_not() {
    let broken: Vec<_> = Label::ALL
        .into_iter()
        .flat_map(|label| {
            [true, false].map(|cited| (label, cited, check(label, cited, "x").is_some()))
        })
        .collect();
    assert_eq!(
        broken,
        [
            (Label::Fact, true, false),
            (Label::Fact, false, true),
            (Label::Infer, true, false),
            (Label::Infer, false, false),
            (Label::Assume, true, true),
            (Label::Assume, false, false),
        ]
    );
}

/// M-03: labels in running text, with the citation on either side of them.
#[test]
fn m03_labels_in_running_text_are_checked() {
    assert_eq!(
        check_text("It doubled.[FACT][1] So it grows.[INFER] We trust it.[ASSUME]"),
        []
    );
    assert_eq!(check_text("It doubled [1-3].[FACT]"), []);
    assert_eq!(
        check_text("First.[INFER][2] Everything is sure.[FACT] Nothing is.[ASSUME][2]"),
        [
            LabelFault::UncitedFact {
                claim: "Everything is sure".into()
            },
            LabelFault::CitedAssumption {
                claim: "Nothing is".into()
            },
        ]
    );
    assert_eq!(check_text("[FACT]").len(), 1);
    assert_eq!(check_text("Ünïcödé 队列.[FACT]").len(), 1);
}

mod anything {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn m03_any_text_can_be_checked(text in "(\\[(FACT|INFER|ASSUME|fact|)\\]|\\[[0-9-]{0,3}\\]|[.!?\n ]|\\PC){0,60}") {
            let labels = text.matches('[').count();
            prop_assert!(check_text(&text).len() <= labels);
        }
    }
}
