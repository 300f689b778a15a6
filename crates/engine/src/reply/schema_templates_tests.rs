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

/// C-05: a form that is filled in is the schema that was refined, whatever the values look like.
#[test]
fn c05_a_filled_form_is_the_refined_schema() {
    let plain = schema_for::<Revision>(&Refinement::default(), Ability::Full).json;
    for values in [
        &["S1"][..],
        &["S1", "S2", "S10"],
        &["[\"S1\"]", "a \\ \"b\"", "\u{1}values of 0", "ü"],
        &[],
    ] {
        let refinement = choosing(values);
        let schema = schema_for::<Revision>(&refinement, Ability::Full).json;
        assert_eq!(**schema, refined(&plain, &refinement), "{values:?}");
        assert_eq!(
            serde_json::to_string(&*schema).unwrap(),
            refined(&plain, &refinement).to_string()
        );
    }
}

/// A name from outside that looks like a mark does no harm.
#[test]
fn c05_a_key_that_looks_like_a_mark_stays_a_key() {
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
        let filled = filled(TypeId::of::<()>(), Ability::Full, &json, &refinement);
        assert_eq!(**filled, refined(&json, &refinement), "{key:?}");
    }
}

/// What all seats of a round choose from is filled in once, and anew as soon as it is something else.
#[test]
fn c05_what_was_filled_in_last_is_not_filled_in_again() {
    struct OfThisTest;
    let json =
        serde_json::json!({ "type": "object", "properties": { "issue": { "type": "string" } } });
    let fill = |values: &[&str]| {
        let reply = TypeId::of::<OfThisTest>();
        filled(reply, Ability::Full, &json, &choosing(values))
    };
    let first = fill(&["S1", "S2"]);
    assert!(Arc::ptr_eq(&first, &fill(&["S1", "S2"])));
    let next = fill(&["S1"]);
    assert_eq!(**next, refined(&json, &choosing(&["S1"])));
    assert_eq!(**first, refined(&json, &choosing(&["S1", "S2"])));
}
