use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::protocols::{councils, dialectic, forecast, modes};
use crate::reply::schema::accepted;

/// Of every kind of reply there is.
static SCHEMAS: LazyLock<Vec<(Value, Validator)>> = LazyLock::new(|| {
    let schemas = [
        accepted::<dialectic::Opening>(),
        accepted::<dialectic::Revision>(),
        accepted::<dialectic::Critique>(),
        accepted::<dialectic::Review>(),
        accepted::<dialectic::Synthesis>(),
        accepted::<dialectic::Marking>(),
        accepted::<councils::Evaluation>(),
        accepted::<councils::Revision>(),
        accepted::<councils::Narrative>(),
        accepted::<councils::Response>(),
        accepted::<councils::Critique>(),
        accepted::<councils::Synthesis>(),
        accepted::<forecast::Argument>(),
        accepted::<forecast::Scoring>(),
        accepted::<forecast::Synthesis>(),
        accepted::<modes::Contribution>(),
        accepted::<modes::Ballot>(),
        accepted::<modes::Conclusion>(),
        accepted::<modes::Evaluation>(),
    ];
    let validated = |schema| {
        let validator = validator(&schema);
        (schema, validator)
    };
    schemas.into_iter().map(validated).collect()
});

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).unwrap()
}

/// Decides what a made-up reply looks like. Without bytes, and where they are small, it fits.
struct Whim<'b>(std::slice::Iter<'b, u8>);

impl Whim<'_> {
    fn next(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn is_odd(&mut self) -> bool {
        self.next() > 240
    }
}

fn made_up(schema: &Value, whim: &mut Whim<'_>) -> Value {
    if whim.is_odd() {
        let odd = [
            json!(null),
            json!(true),
            json!(-1),
            json!(2.0),
            json!(1e300),
            json!(""),
            json!("ü".repeat(5_000)),
            json!([]),
            json!([1, "a"]),
            json!({ "a": null }),
        ];
        return odd[usize::from(whim.next()) % odd.len()].clone();
    }
    for list in ["oneOf", "anyOf"] {
        if let Some(schemas) = schema[list].as_array() {
            return made_up(&schemas[usize::from(whim.next()) % schemas.len()], whim);
        }
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(choices) = schema["enum"].as_array() {
        return choices[usize::from(whim.next()) % choices.len()].clone();
    }
    let kind = match schema["type"].as_array() {
        Some(kinds) => &kinds[usize::from(whim.next()) % kinds.len()],
        None => &schema["type"],
    };
    let bound = |name: &str, or: u64| schema[name].as_u64().unwrap_or(or);
    match kind.as_str() {
        Some("object") => {
            let mut fields = Map::new();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if !whim.is_odd() {
                    fields.insert(name.clone(), made_up(property, whim));
                }
            }
            if schema["additionalProperties"].is_object() {
                fields.insert("k".into(), made_up(&schema["additionalProperties"], whim));
            } else if whim.is_odd() {
                fields.insert("unheard of".into(), json!(1));
            }
            Value::Object(fields)
        }
        Some("array") => {
            let most = bound("maxItems", 3);
            let count = bound("minItems", 0).max(u64::from(whim.next()) % (most + 2));
            let count = if whim.is_odd() {
                count
            } else {
                count.min(most)
            };
            (0..count)
                .map(|_| made_up(&schema["items"], whim))
                .collect()
        }
        Some("string") => {
            let least = usize::try_from(bound("minLength", 0)).unwrap();
            json!("ü".repeat(least + usize::from(whim.next() % 4)))
        }
        Some("integer") => {
            let least = schema["minimum"].as_i64().unwrap_or(0);
            json!(least + i64::from(whim.next() % 12))
        }
        Some("number") => {
            let least = schema["minimum"].as_f64().unwrap_or(0.0);
            json!(least + f64::from(whim.next()) / 200.0)
        }
        Some("boolean") => json!(whim.next().is_multiple_of(2)),
        _ => Value::Null,
    }
}

/// C-05: a reply that fits is known to fit without a validator, whichever kind it is of.
#[test]
fn c05_a_reply_that_fits_needs_no_validator() {
    for (schema, validator) in SCHEMAS.iter() {
        let reply = made_up(schema, &mut Whim([].iter()));
        assert!(validator.is_valid(&reply), "{reply}\n{schema:#}");
        assert_eq!(fits(&reply, schema), Some(true), "{reply}\n{schema:#}");
    }
}

proptest! {
    /// C-05: what is said here of a reply is what the validator says.
    #[test]
    fn c05_the_check_and_the_validator_agree(bytes in proptest::collection::vec(0..=u8::MAX, 0..200)) {
        for (schema, validator) in SCHEMAS.iter() {
            let reply = made_up(schema, &mut Whim(bytes.iter()));
            if let Some(fitting) = fits(&reply, schema) {
                prop_assert_eq!(fitting, validator.is_valid(&reply), "{} {}", reply, schema);
            }
        }
    }
}

/// C-05: where the check does not know a keyword, or what counts as the same number, it says nothing.
#[test]
fn c05_what_is_not_understood_is_left_to_the_validator() {
    for (value, schema) in [
        (json!("a"), json!({ "pattern": "b" })),
        (json!(2.0), json!({ "type": "integer" })),
        (json!(1.0), json!({ "const": 1 })),
        (json!("a"), json!({ "type": "word" })),
        (json!("a"), json!({ "minLength": -1 })),
        (json!("a"), json!(null)),
    ] {
        assert_eq!(fits(&value, &schema), None, "{value} {schema}");
    }
}

/// Both sides of every bound.
#[test]
fn c05_bounds_are_where_they_are() {
    for (schema, inside, outside) in [
        (json!({ "minimum": 0 }), json!(0), json!(-0.001)),
        (json!({ "maximum": 1 }), json!(1.0), json!(1.001)),
        (json!({ "minLength": 2 }), json!("üü"), json!("ü")),
        (json!({ "maxLength": 2 }), json!("üü"), json!("üüü")),
        (json!({ "minItems": 1 }), json!([1]), json!([])),
        (json!({ "maxItems": 1 }), json!([1]), json!([1, 2])),
        (
            json!({ "required": ["a"] }),
            json!({ "a": null }),
            json!({ "b": 1 }),
        ),
        (json!({ "type": ["string", "null"] }), json!(null), json!(1)),
        (json!({ "enum": ["a", "b"] }), json!("b"), json!("c")),
        (
            json!({ "oneOf": [{ "const": "a" }, { "type": "string" }] }),
            json!("b"),
            json!("a"),
        ),
        (
            json!({ "properties": { "a": true }, "additionalProperties": false }),
            json!({ "a": 1 }),
            json!({ "b": 1 }),
        ),
        (
            json!({ "items": { "type": "string" } }),
            json!(["a"]),
            json!(["a", 1]),
        ),
    ] {
        assert_eq!(fits(&inside, &schema), Some(true), "{schema}");
        assert_eq!(fits(&outside, &schema), Some(false), "{schema}");
        assert!(validator(&schema).is_valid(&inside) && !validator(&schema).is_valid(&outside));
    }
}
