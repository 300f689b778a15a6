use super::*;
use crate::protocols::dialectic::{Critique, Marking, Opening, Review, Revision, Synthesis};

/// C-05: the schema that every provider gets is derived from the type.
#[test]
fn c05_schemas_are_derived_from_the_types() {
    let plain = Refinement::default();
    insta::assert_json_snapshot!("opening", shown::<Opening>(&plain, Ability::Full));
    insta::assert_json_snapshot!("review", shown::<Review>(&plain, Ability::Full));
    insta::assert_json_snapshot!("marking", shown::<Marking>(&plain, Ability::Full));
    let choices = Refinement {
        choices: vec![("issue", vec!["S1".into()])],
        ..Refinement::default()
    };
    insta::assert_json_snapshot!(
        "revision_small",
        shown::<Revision>(&choices, Ability::Small)
    );
}

fn shown<T: Reply>(refinement: &Refinement, ability: Ability) -> Value {
    serde_json::to_value(schema_for::<T>(refinement, ability)).unwrap()
}

/// P-04: without open issues the list must be empty.
#[test]
fn p04_a_list_without_choices_must_be_empty() {
    let choices = Refinement {
        choices: vec![("issue", Vec::new())],
        ..Refinement::default()
    };
    let schema = schema_for::<Revision>(&choices, Ability::Small).json;
    assert_eq!(schema["properties"]["responses"]["maxItems"], json!(0));
}

/// Strict modes of providers require closed objects and required properties.
#[test]
fn every_object_is_closed_and_complete() {
    fn check(schema: &Value, place: &str) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            assert_eq!(schema["additionalProperties"], json!(false), "{place}");
            let names: Vec<_> = properties.keys().map(|name| json!(name)).collect();
            assert_eq!(schema["required"], json!(names), "{place}");
            for (name, property) in properties {
                check(property, &format!("{place}/{name}"));
            }
        }
        if let Some(items) = schema.get("items") {
            check(items, &format!("{place}/items"));
        }
        assert!(schema.get("$ref").is_none(), "{place}");
    }
    let plain = Refinement::default();
    check(
        &schema_for::<Opening>(&plain, Ability::Full).json,
        "opening",
    );
    check(
        &schema_for::<Critique>(&plain, Ability::Full).json,
        "critique",
    );
    check(&schema_for::<Review>(&plain, Ability::Full).json, "review");
    check(
        &schema_for::<Revision>(&plain, Ability::Full).json,
        "revision",
    );
    check(
        &schema_for::<Synthesis>(&plain, Ability::Full).json,
        "synthesis",
    );
    check(
        &schema_for::<Marking>(&plain, Ability::Full).json,
        "marking",
    );
}

/// C-05: properties that a mode does not use are left out, and lists of ids allow only existing ids.
#[test]
fn c05_lists_of_ids_are_narrowed_and_unused_properties_left_out() {
    use crate::protocols::modes::Contribution;
    let refinement = |ids: &[&str]| Refinement {
        choices: vec![("supports", ids.iter().map(|id| (*id).to_owned()).collect())],
        omitted: vec!["stance"],
        ..Refinement::default()
    };
    let some = schema_for::<Contribution>(&refinement(&["C1", "D1"]), Ability::Full).json;
    assert_eq!(
        some["properties"]["supports"]["items"],
        serde_json::json!({ "type": "string", "enum": ["C1", "D1"] })
    );
    assert!(some["properties"].get("stance").is_none());
    let none = schema_for::<Contribution>(&refinement(&[]), Ability::Full).json;
    assert_eq!(none["properties"]["supports"]["maxItems"], 0);
}

/// M-02: unbounded numbers get bounds for small models.
#[test]
fn m02_numbers_of_small_models_are_bounded() {
    use crate::protocols::modes::Contribution;
    let plain = Refinement::default();
    let bounds = |ability| {
        let estimate = &schema_for::<Contribution>(&plain, ability).json["properties"]["estimate"];
        (estimate["minimum"].clone(), estimate["maximum"].clone())
    };
    assert_eq!(bounds(Ability::Full), (Value::Null, Value::Null));
    assert_eq!(
        bounds(Ability::Small),
        (json!(-MAX_NUMBER), json!(MAX_NUMBER))
    );
}

/// C-05: every reply type is validated: without a validator, only the parser would check its replies.
#[test]
fn c05_every_reply_type_has_a_validator() {
    use crate::protocols::{councils, dialectic, forecast, modes};
    macro_rules! check {
        ($($reply:ty),* $(,)?) => {
            $(assert!(derived::<$reply>().validator.is_some(), stringify!($reply));)*
        };
    }
    check!(
        dialectic::Opening,
        dialectic::Revision,
        dialectic::Critique,
        dialectic::Review,
        dialectic::Synthesis,
        dialectic::Marking,
        councils::Evaluation,
        councils::Revision,
        councils::Narrative,
        councils::Response,
        councils::Critique,
        councils::Synthesis,
        forecast::Argument,
        forecast::Scoring,
        forecast::Synthesis,
        modes::Contribution,
        modes::Ballot,
        modes::Conclusion,
        modes::Evaluation,
    );
}
