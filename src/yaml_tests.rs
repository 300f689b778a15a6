use roundtable_engine::retrospective::{AssessmentFile, RecordFile};

use super::*;

const RECORD: &str = include_str!("../crates/engine/fixtures/dashboard/record.yaml");
const ASSESSMENT: &str = include_str!("../crates/engine/fixtures/dashboard/assessment.yaml");

fn fault<T: DeserializeOwned + JsonSchema + std::fmt::Debug>(text: &str) -> String {
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
}

/// E-14: a file that is something else altogether says what was expected instead.
#[test]
fn e14_a_file_of_another_sort_says_what_was_expected() {
    let expected = "expected YAML or JSON that begins with 'implementation_tracking:' or 'post_mortem_assessment:'";
    for (text, found) in [
        ("", "is empty"),
        ("# nothing but a remark\n", "is empty"),
        ("- decision_accuracy: 0.7\n", "is a list"),
        ("[1, 2]", "is a list"),
        ("It went well.\n", "is plain text without fields"),
        ("\"{}\"", "is plain text without fields"),
        ("0.7", "is plain text without fields"),
    ] {
        assert_eq!(
            fault::<AssessmentFile>(text),
            format!("a.yaml {found}; {expected}"),
            "{text:?}"
        );
    }
    assert_eq!(
        fault::<RecordFile>("[]"),
        "a.yaml is a list; expected YAML or JSON that begins with 'debate_record:'"
    );
}

/// E-14: the same where only a part of it is of another sort, and for JSON.
#[test]
fn e14_a_part_of_another_sort_says_what_was_expected_there() {
    for (text, said) in [
        (
            "post_mortem_assessment: 0.7\n",
            "1: fields are expected here, each on a line such as 'name: value'",
        ),
        (
            "post_mortem_assessment:\n  - decision_accuracy: 0.7\n",
            "2: fields are expected here, each on a line such as 'name: value'",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: 0.7\n  lessons_learned:\n    lesson: Ask\n",
            "4: a list is expected here, each of its lines beginning with '- '",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: [0.7]\n",
            "2: a single value is expected here, not a list and not fields",
        ),
        (
            "{\"post_mortem_assessment\":\n  {\"decision_acuracy\": 0.7}}",
            "2: there is no field 'decision_acuracy'; did you mean 'decision_accuracy'?",
        ),
        (
            "decision_accuracy: 0.7\n",
            "1: there is no field 'decision_accuracy'; there are: implementation_tracking, post_mortem_assessment",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: 0.7\n  evidence:\n    - mark: refuted\n",
            "4: a mark needs either the 'citation' of a piece of evidence or the id of a 'claim'",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: 0.7\n  evidence:\n    - {claim: C1, citation: Log, mark: refuted}\n",
            "4: a mark is of a 'citation' or of a 'claim', not of both",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: 0.7\n  evidence:\n    - {claim: C1, type: LOGICAL, mark: refuted}\n",
            "4: the evidence of a claim has its types already: leave 'type' out",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: 0.7\n  evidence:\n    - {clam: C1, mark: refuted}\n",
            "4: there is no field 'clam'; did you mean 'claim'?",
        ),
    ] {
        assert_eq!(fault::<AssessmentFile>(text), format!("a.yaml:{said}"));
    }
}
