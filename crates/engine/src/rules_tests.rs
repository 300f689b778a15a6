use serde_json::json;

use super::*;
use crate::scripted::setup;

fn with(rules: Value) -> Setup {
    Setup {
        rules,
        ..setup("Why?")
    }
}

#[test]
fn planned_rounds_are_read_from_the_rules() {
    let planned = |rules| Planned::of(&with(rules)).map(|planned| (planned.least, planned.most));
    assert_eq!(
        planned(json!({ "min_rounds": 2, "max_rounds": 4 })),
        Some((2, 4))
    );
    assert_eq!(planned(json!({ "max_rounds": 4 })), Some((4, 4)));
    assert_eq!(planned(json!({ "rounds": 3 })), Some((3, 3)));
    assert_eq!(planned(json!({ "rounds": "many" })), None);
    assert_eq!(planned(json!(null)), None);
}

/// E-15: enhanced debates keep the learning input in an object of its own.
#[test]
fn e15_learning_input_is_read_from_both_forms_of_rules() {
    let plain = json!({ "learned": { "domain": "api design", "questions": [{ "question": "Which queries?" }] } });
    let enhanced =
        json!({ "enhanced": { "domain": "api design", "required_questions": ["Which queries?"] } });
    for rules in [plain, enhanced] {
        let setup = with(rules);
        let input = LearningInput::of(&setup);
        assert!(!input.is_empty());
        assert_eq!(input.domain(), Some("api design"));
        assert_eq!(input.required_questions(), ["Which queries?"]);
    }
    for rules in [
        json!(null),
        json!({}),
        json!({ "learned": null }),
        json!({ "enhanced": { "required_questions": [] } }),
    ] {
        let setup = with(rules);
        assert!(LearningInput::of(&setup).is_empty());
    }
}
