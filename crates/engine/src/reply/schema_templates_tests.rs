use std::any::TypeId;

use super::*;
use crate::protocols::dialectic::Revision;
use crate::reply::schema_for;

fn choosing(values: &[&str]) -> Refinement {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    Refinement {
        choices: vec![("nothing", vec!["x".into()]), ("issue", values)],
        ..Refinement::default()
    }
}

/// C-05: a filled template equals the refined schema for any values.
#[test]
fn c05_a_filled_template_is_the_refined_schema() {
    let plain = schema_for::<Revision>(&Refinement::default(), Ability::Full).json;
    for values in [
        &["S1"][..],
        &["S1", "S2", "S10"],
        &["[\"S1\"]", "a \\ \"b\"", "\u{1}values of 0", "ü"],
        &[],
    ] {
        let refinement = choosing(values);
        let schema = schema_for::<Revision>(&refinement, Ability::Full).json;
        assert_eq!(**schema, refined_value(&plain, &refinement), "{values:?}");
        assert_eq!(
            serde_json::to_string(&*schema).unwrap(),
            refined_value(&plain, &refinement).to_string()
        );
    }
}

/// C-05: a key that looks like a placeholder is kept.
#[test]
fn c05_a_key_that_looks_like_a_placeholder_is_kept() {
    let json = serde_json::json!({ "type": "object", "properties": {
        "scores": { "type": "object", "additionalProperties": { "type": "number" } },
        "issue": { "type": "string" },
    } });
    for key in ["\u{1}values of 0", "\u{1}values of 7", "\u{1}values of "] {
        let refinement = Refinement {
            choices: vec![("issue", vec!["S1".into()])],
            keys: vec![("scores", vec![key.to_owned(), "b".into()])],
            ..Refinement::default()
        };
        let schema = refined(TypeId::of::<()>(), Ability::Full, &json, &refinement);
        assert_eq!(**schema, refined_value(&json, &refinement), "{key:?}");
    }
}

/// C-05: the last schema is reused for the same choices and rebuilt for others.
#[test]
fn c05_the_last_schema_is_cached() {
    struct OfThisTest;
    let json =
        serde_json::json!({ "type": "object", "properties": { "issue": { "type": "string" } } });
    let fill = |values: &[&str]| {
        let reply = TypeId::of::<OfThisTest>();
        refined(reply, Ability::Full, &json, &choosing(values))
    };
    let first = fill(&["S1", "S2"]);
    assert!(Arc::ptr_eq(&first, &fill(&["S1", "S2"])));
    let next = fill(&["S1"]);
    assert_eq!(**next, refined_value(&json, &choosing(&["S1"])));
    assert_eq!(**first, refined_value(&json, &choosing(&["S1", "S2"])));
}
