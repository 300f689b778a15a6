use serde_json::json;

use super::*;
use crate::model::{Ability, Finish};
use crate::protocols::dialectic::Review;
use crate::reply::{Refinement, ReplyError, read, schema_for};

fn review() -> Value {
    json!({
        "assessment": "Sound now.",
        "verdicts": [{ "issue": "S1", "status": "partially_resolved", "reason": "Figures." }],
        "new_issues": [],
        "quality_score": 7,
        "ready_for_synthesis": false,
    })
}

fn reading(value: &Value) -> Result<Value, ReplyError> {
    let sent = schema_for::<Review>(&Refinement::default(), Ability::Full);
    let review = read::<Review>(&value.to_string(), Finish::Stop, &sent.json)?;
    Ok(json!(review))
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut changed = review();
    change(&mut changed);
    changed
}

/// C-05: what was asked for and is only spelled otherwise is not asked for again.
#[test]
fn c05_the_same_in_another_spelling_fits() {
    let cases = [
        ("within one more object", json!({ "review": review() })),
        (
            "a whole number with a point",
            with(|it| it["quality_score"] = json!(7.0)),
        ),
        (
            "a choice in another case",
            with(|it| it["verdicts"][0]["status"] = json!("Partially resolved")),
        ),
        (
            "one thing for a list",
            with(|it| it["verdicts"] = it["verdicts"][0].clone()),
        ),
        (
            "nothing for a list",
            with(|it| it["new_issues"] = Value::Null),
        ),
        (
            "more than was asked for",
            with(|it| it["thoughts"] = json!(["Hm."])),
        ),
        (
            "more, further down",
            with(|it| it["verdicts"][0]["note"] = json!("Hm.")),
        ),
        (
            "a name in another case",
            with(|it| {
                let fields = it.as_object_mut().unwrap();
                let score = fields.remove("quality_score").unwrap();
                fields.insert("qualityScore".into(), score);
            }),
        ),
    ];
    for (what, value) in cases {
        assert_eq!(reading(&value), Ok(review()), "{what}");
    }
}

/// C-05: what was asked for and is not there, or is something else, is still asked for once more, in the words of the reply as it was.
#[test]
fn c05_what_is_missing_or_something_else_does_not_fit() {
    let without_score = with(|it| drop(it.as_object_mut().unwrap().remove("quality_score")));
    let misspelt = {
        let mut it = without_score.clone();
        it["qualty_score"] = json!(7);
        it
    };
    let cases = [
        (without_score, "quality_score"),
        // What nobody asked for may be what is missing.
        (misspelt, "qualty_score"),
        (
            with(|it| it["quality_score"] = json!("7")),
            "at /quality_score",
        ),
        (
            with(|it| it["quality_score"] = json!(11)),
            "at /quality_score",
        ),
        (
            with(|it| it["quality_score"] = json!(7.5)),
            "at /quality_score",
        ),
        (
            with(|it| it["ready_for_synthesis"] = json!("false")),
            "at /ready_for_synthesis",
        ),
        (
            with(|it| it["verdicts"][0]["status"] = json!("half")),
            "at /verdicts/0/status",
        ),
        (json!({ "thoughts": { "mood": "good" } }), "thoughts"),
    ];
    for (value, named) in cases {
        let said = reading(&value).unwrap_err().to_string();
        assert!(said.contains(named), "{value}: {said}");
    }
}

/// C-05: a choice is only taken for another spelling where one alone can be meant.
#[test]
fn c05_of_two_choices_that_are_alike_none_is_guessed() {
    let schema = json!({ "type": "string", "enum": ["C1", "c-1", "C2"] });
    assert_eq!(fitted(&json!("c1"), &schema), None);
    assert_eq!(fitted(&json!("C1"), &schema), None);
    assert_eq!(fitted(&json!("c2"), &schema), Some(json!("C2")));
}

/// C-05: things by name, and what may also be nothing.
#[test]
fn c05_maps_and_what_may_be_nothing_are_spelled_too() {
    let choices = json!({ "type": "string", "enum": ["YES", "NO"] });
    let schema = json!({ "type": "object", "additionalProperties": choices });
    let value = json!({ "first": "yes", "Second": "NO" });
    let meant = json!({ "first": "YES", "Second": "NO" });
    assert_eq!(fitted(&value, &schema), Some(meant.clone()));
    let optional = json!({ "anyOf": [schema, { "type": "null" }] });
    assert_eq!(fitted(&value, &optional), Some(meant.clone()));
    assert_eq!(fitted(&Value::Null, &optional), None);
    let list = json!({ "anyOf": [{ "type": "array", "items": schema }, { "type": "null" }] });
    assert_eq!(fitted(&Value::Null, &list), None);
    assert_eq!(fitted(&json!("none"), &list), None);
    assert_eq!(fitted(&value, &list), Some(json!([meant])));
}
