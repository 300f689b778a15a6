use std::collections::HashSet;

use roundtable_engine::envelope::Metadata;

use super::*;

fn component<'d>(document: &'d Value, name: &str) -> &'d Value {
    &document["components"]["schemas"][name]
}

/// P-09: an event that belongs to a step matches the schema, and every field of it is documented.
#[test]
fn p09_an_event_with_a_step_is_documented() {
    let document = document();
    let event = json!(Envelope {
        kind: "debate_event",
        event: "skeptic_chunk".into(),
        round: 2,
        content: "But".into(),
        metadata: Metadata {
            model: Some("lab:x".into()),
            role: Some("skeptic".into()),
            tokens_so_far: 12,
            step: Some("r2/skeptic/review".into()),
            rescued_by: None,
            state: None,
            reason: None,
            debate_id: None,
        },
    });
    let mut schema = component(&document, "Envelope").clone();
    schema["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&event), "{event}");
    let mut without_tokens = event.clone();
    let metadata = without_tokens["metadata"].as_object_mut().unwrap();
    metadata.remove("tokens_so_far");
    assert!(!validator.is_valid(&without_tokens));

    for (name, value) in [
        ("Envelope", &event),
        ("EnvelopeMetadata", &event["metadata"]),
    ] {
        let properties = component(&document, name)["properties"]
            .as_object()
            .unwrap();
        for field in value.as_object().unwrap().keys() {
            assert!(properties.contains_key(field), "{name}.{field}");
        }
    }
}

/// Every reference resolves, every schema is valid, ids are unique, and path parameters are declared.
#[test]
fn the_document_is_consistent() {
    let document = document();
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::meta::is_valid(schema), "{name}");
    }
    let mut ids = HashSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            assert!(ids.insert(operation["operationId"].clone()), "{path}");
            let declared = operation["parameters"].as_array().unwrap().iter();
            let declared = declared.filter(|parameter| parameter["in"] == "path");
            assert_eq!(declared.count(), path.matches('{').count(), "{path}");
        }
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(
                fields
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            fields
                .values()
                .for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Types with equal names would overwrite each other, or get numbered names.
#[test]
fn schemas_have_distinct_readable_names() {
    let mut schemas = Schemas::new();
    operations(&mut schemas);
    let [requests, responses] = schemas.into_definitions();
    for (name, schema) in &requests {
        let other = responses.get(name);
        assert!(other.is_none_or(|other| other == schema), "{name}");
    }
    for name in requests.keys().chain(responses.keys()) {
        assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "{name}");
    }
}

/// The rules of a request list the input of every protocol.
#[test]
fn rules_document_the_input_of_every_protocol() {
    let document = document();
    let rules = &component(&document, "NewDebate")["properties"]["rules"];
    let inputs = rules["anyOf"].as_array().unwrap();
    let titles: Vec<&str> = inputs
        .iter()
        .filter_map(|input| input["title"].as_str())
        .collect();
    assert_eq!(titles, protocols::names());
}

fn validator(document: &Value, name: &str) -> jsonschema::Validator {
    let mut schema = component(document, name).clone();
    schema["components"] = document["components"].clone();
    jsonschema::validator_for(&schema).unwrap()
}

/// A client can tell from the document which rules belong to which protocol.
#[test]
fn rules_of_another_protocol_do_not_match_the_schema() {
    let document = document();
    let validator = validator(&document, "NewDebate");
    let outcomes = json!({ "outcomes": ["Yes", "No"] });
    for (protocol, fits) in [("forecast", true), ("dialectic", false), ("panel", false)] {
        let body = json!({ "question": "Why?", "protocol": protocol, "rules": outcomes });
        assert_eq!(validator.is_valid(&body), fits, "{protocol}");
    }
    // Without a protocol the rules are the first one's.
    assert!(!validator.is_valid(&json!({ "question": "Why?", "rules": outcomes })));
    assert!(validator.is_valid(&json!({ "question": "Why?", "rules": {} })));
    assert!(validator.is_valid(&json!({ "protocol": "councils", "rules": { "parts": [] } })));
}

/// F-01: the request of the forecasting contract has its fields, with descriptions.
#[test]
fn f01_the_request_of_the_contract_is_documented() {
    let document = document();
    let validator = validator(&document, "DebateRequest");
    let outcome = |id: &str| json!({ "id": id, "label": id });
    let mut body = json!({
        "task_id": "t",
        "prediction_context": { "task": {}, "outcomes": [outcome("yes"), outcome("no")] },
    });
    assert!(validator.is_valid(&body));
    body["config"] = json!({ "rounds": 3, "judge_weight": 0.5, "anything": 1 });
    assert!(validator.is_valid(&body));
    for (pointer, wrong) in [
        ("/task_id", json!(3)),
        ("/config/rounds", json!(11)),
        ("/config/judge_weight", json!(2)),
        ("/prediction_context/outcomes", json!([outcome("yes")])),
    ] {
        let mut body = body.clone();
        *body.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&body), "{pointer}");
    }
    assert!(!validator.is_valid(&json!({})));
    let length = &component(&document, "ForecastConfig")["properties"]["max_argument_length"];
    assert!(
        length["description"].as_str().unwrap().contains("tokens"),
        "{length}"
    );
}

/// Every format of an export has its media type; JSON is an object, the others are text.
#[test]
fn an_export_is_documented_by_format() {
    let document = document();
    let response = &document["paths"]["/api/v1/debates/{id}/export"]["get"]["responses"]["200"];
    let content = response["content"].as_object().unwrap();
    let types: Vec<(&str, &str)> = content
        .iter()
        .map(|(name, content)| (name.as_str(), content["schema"]["type"].as_str().unwrap()))
        .collect();
    assert_eq!(
        types,
        [
            ("application/json", "object"),
            ("application/yaml", "string"),
            ("text/markdown", "string"),
            ("text/html", "string"),
            ("application/x-ndjson", "string"),
        ]
    );
}
