use roundtable_engine::enhanced::{AssessmentFile, RecordFile};

use super::*;

const RECORD: &str = include_str!("../crates/engine/fixtures/dashboard/record.yaml");
const ASSESSMENT: &str = include_str!("../crates/engine/fixtures/dashboard/assessment.yaml");

fn fault<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
    parse::<T>("a.yaml", text).unwrap_err().message().to_owned()
}

/// The line of the changed words, and what is said of it.
fn changed(right: &str, wrong: &str) -> (usize, String) {
    assert!(ASSESSMENT.contains(right), "{right}");
    let line = 1 + ASSESSMENT[..ASSESSMENT.find(right).unwrap()]
        .matches('\n')
        .count();
    (
        line,
        fault::<AssessmentFile>(&ASSESSMENT.replacen(right, wrong, 1)),
    )
}

/// E-14: a wrong field is named with its line and the name that was meant.
#[test]
fn e14_a_wrong_field_is_named_with_its_line_and_the_nearest_name() {
    for (right, wrong, said) in [
        (
            "surprise_factor:",
            "suprise_factor:",
            "there is no field 'suprise_factor'; did you mean 'surprise_factor'?",
        ),
        (
            "status: \"new_requirement\"",
            "status: \"new_requirements\"",
            "there is no value 'new_requirements'; did you mean 'new_requirement'?",
        ),
        (
            "mark: incomplete",
            "mark: dubious",
            "there is no value 'dubious'; there are: validated, refuted, dismissed_but_relevant, incomplete",
        ),
        (
            "decision_accuracy: 0.75",
            "decision_accuracy: 75",
            "75 is not a probability: it must be a number from 0 to 1",
        ),
        (
            "\"LOGICAL: 50%",
            "\"LOGICL: 50%",
            "there is no type of evidence 'LOGICL'; did you mean 'LOGICAL'?",
        ),
        (
            "\"2 additional days\"",
            "\"a while\"",
            "'a while' is no time: write a number and hours, days or weeks, such as '3 days'",
        ),
    ] {
        let (line, found) = changed(right, wrong);
        assert_eq!(found, format!("a.yaml:{line}: {said}"));
    }
}

#[test]
fn e14_what_is_no_yaml_or_lacks_something_is_said() {
    assert_eq!(
        fault::<AssessmentFile>("post_mortem_assessment:\n  what_went_right: []\n"),
        "a.yaml:2: the field 'decision_accuracy' is missing"
    );
    let broken = fault::<RecordFile>("debate_record: [\n");
    assert!(broken.starts_with("a.yaml:"), "{broken}");
    let wrong = RECORD.replace("round_number: 2", "round_number: two");
    let found = fault::<RecordFile>(&wrong);
    assert!(found.starts_with("a.yaml:46: "), "{found}");
    let empty = fault::<RecordFile>("");
    assert!(empty.starts_with("a.yaml:1: "), "{empty}");
}
