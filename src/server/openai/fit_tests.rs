use serde_json::json;

use super::super::ask::json_form;
use super::*;

#[test]
fn b03_json_is_found_in_a_reply_and_checked() {
    let schema = json!({ "type": "object", "properties": { "yes": { "type": "boolean" } }, "required": ["yes"] });
    let form = json_form("/", "f", schema).unwrap();
    for (reply, expected) in [
        ("{\"yes\": true}", Ok("{\"yes\":true}")),
        ("Here: ```json\n{\"yes\": true}\n```", Ok("{\"yes\":true}")),
        ("<think>{}</think>{\"yes\": false}", Ok("{\"yes\":false}")),
        ("yes", Err("it is not JSON")),
        ("{\"yes\": 1}", Err("at '/yes'")),
        ("{}", Err("at ''")),
    ] {
        match (valid(reply, &form), expected) {
            (Ok(json), Ok(expected)) => assert_eq!(json, expected),
            (Err(why), Err(expected)) => assert!(why.starts_with(expected), "{why}"),
            (found, _) => panic!("{reply}: {found:?}"),
        }
    }
    assert_eq!(
        valid("[1]", &Form::JsonObject).unwrap_err(),
        "it is not a JSON object"
    );
    assert_eq!(valid("{}", &Form::JsonObject).unwrap(), "{}");
}

/// A schema cannot make the server read other documents.
#[test]
fn b03_a_schema_that_refers_elsewhere_is_refused() {
    for schema in [
        json!({ "$ref": "http://127.0.0.1:1/x.json" }),
        json!({ "$ref": "file:///etc/passwd" }),
        json!({ "type": "nothing" }),
        json!("text"),
    ] {
        assert!(json_form("/", "f", schema.clone()).is_err(), "{schema}");
    }
    let own = json!({ "$defs": { "a": { "type": "string" } }, "properties": { "x": { "$ref": "#/$defs/a" } } });
    assert!(json_form("/", "f", own).is_ok());
}
