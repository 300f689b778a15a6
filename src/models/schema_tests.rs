use serde_json::json;

use super::*;

/// A property may have the name of a keyword.
#[test]
fn keywords_are_removed_but_not_properties_of_the_same_name() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "minLength": { "type": "string", "minLength": 1, "format": "uint8" },
            "kind": { "oneOf": [{ "const": "a", "description": "A" }, { "const": "b" }] },
            "many": { "type": "array", "items": { "type": "number", "minimum": 0, "format": "double" }, "minItems": 1 },
        },
        "required": ["minLength", "kind", "many"],
        "additionalProperties": false,
    });
    assert_eq!(
        json!({
            "type": "object",
            "properties": {
                "minLength": { "type": "string", "description": "(minLength: 1)" },
                "kind": { "anyOf": [{ "const": "a", "description": "A" }, { "const": "b" }] },
                "many": { "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 1 },
            },
            "required": ["minLength", "kind", "many"],
            "additionalProperties": false,
        }),
        OPENAI_STRICT.translate(&schema)
    );
    assert_eq!(
        json!({ "oneOf": [{ "enum": ["a"], "description": "A" }, { "enum": ["b"] }] }),
        GEMINI.translate(&schema)["properties"]["kind"]
    );
    assert_eq!(
        json!({
            "type": "array",
            "items": { "type": "number", "description": "(minimum: 0)" },
            "description": "(minItems: 1)",
        }),
        ANTHROPIC.translate(&schema)["properties"]["many"]
    );
}
