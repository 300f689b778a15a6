use roundtable_engine::retrospective::{AssessmentFile, RecordFile};

use super::*;

const RECORD: &str = include_str!("../crates/engine/fixtures/dashboard/record.yaml");
const ASSESSMENT: &str = include_str!("../crates/engine/fixtures/dashboard/assessment.yaml");

fn fault<T: DeserializeOwned + JsonSchema + std::fmt::Debug>(text: &str) -> String {
    parse::<T>("a.yaml", text).unwrap_err().message().to_owned()
}

/// The line of the change, and the error message.
fn error_after_change(right: &str, wrong: &str) -> (usize, String) {
    assert!(ASSESSMENT.contains(right), "{right}");
    let line = 1 + ASSESSMENT[..ASSESSMENT.find(right).unwrap()]
        .matches('\n')
        .count();
    (
        line,
        fault::<AssessmentFile>(&ASSESSMENT.replacen(right, wrong, 1)),
    )
}

/// E-14: an error names the line and the nearest valid name.
#[test]
fn e14_a_wrong_field_is_named_with_its_line_and_the_nearest_name() {
    for (right, wrong, message) in [
        (
            "surprise_factor:",
            "suprise_factor:",
            "unknown field 'suprise_factor'; did you mean 'surprise_factor'?",
        ),
        (
            "status: \"new_requirement\"",
            "status: \"new_requirements\"",
            "unknown value 'new_requirements'; did you mean 'new_requirement'?",
        ),
        (
            "mark: incomplete",
            "mark: dubious",
            "unknown value 'dubious'; expected one of: validated, refuted, dismissed_but_relevant, incomplete",
        ),
        (
            "decision_accuracy: 0.75",
            "decision_accuracy: 75",
            "75 is not a probability: it must be a number from 0 to 1",
        ),
        (
            "\"LOGICAL: 50%",
            "\"LOGICL: 50%",
            "unknown evidence type 'LOGICL'; did you mean 'LOGICAL'?",
        ),
        (
            "\"2 additional days\"",
            "\"a while\"",
            "invalid time 'a while': expected a number of hours, days or weeks, such as '3 days'",
        ),
    ] {
        let (line, found) = error_after_change(right, wrong);
        assert_eq!(found, format!("a.yaml:{line}: {message}"));
    }
}

#[test]
fn e14_invalid_yaml_and_missing_fields_are_reported() {
    assert_eq!(
        fault::<AssessmentFile>("post_mortem_assessment:\n  what_went_right: []\n"),
        "a.yaml:2: missing field 'decision_accuracy'"
    );
    let broken = fault::<RecordFile>("debate_record: [\n");
    assert!(broken.starts_with("a.yaml:"), "{broken}");
    let wrong = RECORD.replace("round_number: 2", "round_number: two");
    let found = fault::<RecordFile>(&wrong);
    assert!(found.starts_with("a.yaml:46: "), "{found}");
}

/// E-14: for a file of another kind, the error names what was expected.
#[test]
fn e14_a_file_of_another_kind_names_what_was_expected() {
    let expected = "expected YAML or JSON that starts with 'implementation_tracking:' or 'post_mortem_assessment:'";
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
        "a.yaml is a list; expected YAML or JSON that starts with 'debate_record:'"
    );
}

/// E-14: the same for a part of a file, and for JSON.
#[test]
fn e14_a_part_of_another_kind_names_what_was_expected() {
    for (text, message) in [
        (
            "post_mortem_assessment: 0.7\n",
            "1: expected fields here, each on a line such as 'name: value'",
        ),
        (
            "post_mortem_assessment:\n  - decision_accuracy: 0.7\n",
            "2: expected fields here, each on a line such as 'name: value'",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: 0.7\n  lessons_learned:\n    lesson: Ask\n",
            "4: expected a list here, each line starting with '- '",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: [0.7]\n",
            "2: expected a single value here, not a list or fields",
        ),
        (
            "{\"post_mortem_assessment\":\n  {\"decision_acuracy\": 0.7}}",
            "2: unknown field 'decision_acuracy'; did you mean 'decision_accuracy'?",
        ),
        (
            "decision_accuracy: 0.7\n",
            "1: unknown field 'decision_accuracy'; expected one of: implementation_tracking, post_mortem_assessment",
        ),
        (
            "post_mortem_assessment:\n  decision_accuracy: 0.7\n  evidence:\n    - mark: refuted\n",
            "4: a mark needs the 'citation' of a piece of evidence or the id of a 'claim'",
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
            "4: unknown field 'clam'; did you mean 'claim'?",
        ),
    ] {
        assert_eq!(fault::<AssessmentFile>(text), format!("a.yaml:{message}"));
    }
}
