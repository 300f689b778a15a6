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

/// C-05: a reply that deviates only in spelling is accepted without a retry.
#[test]
fn c05_a_different_spelling_is_accepted() {
    let cases = [
        ("within one more object", json!({ "review": review() })),
        (
            "a whole number with a point",
            with(|reply| reply["quality_score"] = json!(7.0)),
        ),
        (
            "a choice in another case",
            with(|reply| reply["verdicts"][0]["status"] = json!("Partially resolved")),
        ),
        (
            "one thing for a list",
            with(|reply| reply["verdicts"] = reply["verdicts"][0].clone()),
        ),
        (
            "nothing for a list",
            with(|reply| reply["new_issues"] = Value::Null),
        ),
        (
            "more than was asked for",
            with(|reply| reply["thoughts"] = json!(["Hm."])),
        ),
        (
            "more, further down",
            with(|reply| reply["verdicts"][0]["note"] = json!("Hm.")),
        ),
        (
            "a name in another case",
            with(|reply| {
                let fields = reply.as_object_mut().unwrap();
                let score = fields.remove("quality_score").unwrap();
                fields.insert("qualityScore".into(), score);
            }),
        ),
    ];
    for (what, value) in cases {
        assert_eq!(reading(&value), Ok(review()), "{what}");
    }
}

/// C-05: missing or wrong values are still errors, with the messages of the original reply.
#[test]
fn c05_missing_or_wrong_values_are_errors() {
    let without_score = with(|reply| drop(reply.as_object_mut().unwrap().remove("quality_score")));
    let misspelt = {
        let mut it = without_score.clone();
        it["qualty_score"] = json!(7);
        it
    };
    let cases = [
        (without_score, "quality_score"),
        // The unknown property may be the missing one.
        (misspelt, "qualty_score"),
        (
            with(|reply| reply["quality_score"] = json!("7")),
            "quality_score must be",
        ),
        (
            with(|reply| reply["quality_score"] = json!(11)),
            "quality_score must be",
        ),
        (
            with(|reply| reply["quality_score"] = json!(7.5)),
            "quality_score must be",
        ),
        (
            with(|reply| reply["ready_for_synthesis"] = json!("false")),
            "ready_for_synthesis must be true or false",
        ),
        (
            with(|reply| reply["verdicts"][0]["status"] = json!("half")),
            "verdicts 1, status must be resolved, partially_resolved or unresolved",
        ),
        (json!({ "thoughts": { "mood": "good" } }), "thoughts"),
    ];
    for (value, named) in cases {
        let said = reading(&value).unwrap_err().to_string();
        assert!(said.contains(named), "{value}: {said}");
    }
}

/// C-05: a choice is normalized only if exactly one matches.
#[test]
fn c05_an_ambiguous_choice_is_not_guessed() {
    let schema = json!({ "type": "string", "enum": ["C1", "c-1", "C2"] });
    assert_eq!(normalized(&json!("c1"), &schema), None);
    assert_eq!(normalized(&json!("C1"), &schema), None);
    assert_eq!(normalized(&json!("c2"), &schema), Some(json!("C2")));
}

/// C-05: maps and nullable values are normalized too.
#[test]
fn c05_maps_and_nullable_values_are_normalized() {
    let choices = json!({ "type": "string", "enum": ["YES", "NO"] });
    let schema = json!({ "type": "object", "additionalProperties": choices });
    let value = json!({ "first": "yes", "Second": "NO" });
    let meant = json!({ "first": "YES", "Second": "NO" });
    assert_eq!(normalized(&value, &schema), Some(meant.clone()));
    let optional = json!({ "anyOf": [schema, { "type": "null" }] });
    assert_eq!(normalized(&value, &optional), Some(meant.clone()));
    assert_eq!(normalized(&Value::Null, &optional), None);
    let list = json!({ "anyOf": [{ "type": "array", "items": schema }, { "type": "null" }] });
    assert_eq!(normalized(&Value::Null, &list), None);
    assert_eq!(normalized(&json!("none"), &list), None);
    assert_eq!(normalized(&value, &list), Some(json!([meant])));
}
