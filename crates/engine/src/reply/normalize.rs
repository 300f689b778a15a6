//! Normalizes replies that deviate from the schema only in spelling: wrapped in an extra object, names or choices in a
//! different case, one object instead of a list, unknown properties.
//!
//! Nothing is invented and nothing requested is lost: unknown properties are kept as long as a property is missing, because
//! one of them may be the missing one. Strings and numbers are not converted: a score of "70" is invalid and is retried.

use serde_json::{Map, Number, Value, json};

/// The reply in the spelling of its schema; `None` if nothing changes.
pub(super) fn normalized(value: &Value, schema: &Value) -> Option<Value> {
    let normalized = normalize(unwrapped(value, schema), schema);
    (normalized != *value).then_some(normalized)
}

/// The inner object if the reply is wrapped in an object with one unknown property.
fn unwrapped<'v>(value: &'v Value, schema: &Value) -> &'v Value {
    let known = |name: &String| schema["properties"].get(name).is_some();
    let alone = value.as_object().filter(|fields| fields.len() == 1);
    let Some((name, inner)) = alone.and_then(|fields| fields.iter().next()) else {
        return value;
    };
    let is_reply = |fields: &Map<String, Value>| fields.keys().any(known);
    if !known(name) && inner.as_object().is_some_and(is_reply) {
        inner
    } else {
        value
    }
}

fn normalize(value: &Value, schema: &Value) -> Value {
    if value.is_null() {
        let is_list = schema["type"] == "array";
        return if is_list { json!([]) } else { Value::Null };
    }
    let schema = without_null(schema);
    let kinds = &schema["type"];
    let may_be = |kind: &str| match kinds.as_array() {
        Some(kinds) => kinds.iter().any(|k| k == kind),
        None => kinds == kind,
    };
    match value {
        Value::Object(fields) if may_be("object") => {
            Value::Object(normalize_fields(fields, schema))
        }
        Value::Array(items) if may_be("array") => items
            .iter()
            .map(|item| normalize(item, &schema["items"]))
            .collect(),
        // Only objects: a string may be one item, several, or the word "none".
        Value::Object(_) if may_be("array") => json!([normalize(value, &schema["items"])]),
        Value::String(text) if may_be("string") => choice(text, &schema["enum"]),
        Value::Number(number) if may_be("integer") && !may_be("number") => whole(number),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => value.clone(),
    }
}

/// The only alternative of an `anyOf` besides null.
fn without_null(schema: &Value) -> &Value {
    let branches = schema["anyOf"].as_array();
    let mut some = branches
        .into_iter()
        .flatten()
        .filter(|branch| branch["type"] != "null");
    match (some.next(), some.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

fn normalize_fields(fields: &Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let Some(properties) = schema["properties"].as_object() else {
        let each = &schema["additionalProperties"];
        return fields
            .iter()
            .map(|(name, value)| (name.clone(), normalize(value, each)))
            .collect();
    };
    let mut known = Map::new();
    let mut unknown = Map::new();
    for (name, value) in fields {
        let key = if properties.contains_key(name) {
            Some(name)
        } else {
            only(properties.keys().filter(|key| plain(key) == plain(name)))
                .filter(|key| !fields.contains_key(*key))
        };
        match key {
            Some(key) => known.insert(key.clone(), normalize(value, &properties[key])),
            None => unknown.insert(name.clone(), value.clone()),
        };
    }
    let is_complete = properties.keys().all(|name| known.contains_key(name));
    if !is_complete {
        known.append(&mut unknown);
    }
    known
}

/// The choice that equals the text up to spelling, if there is exactly one.
fn choice(text: &str, choices: &Value) -> Value {
    let choices = choices
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let matching = choices.filter(|choice| *choice == text || plain(choice) == plain(text));
    json!(only(matching).unwrap_or(text))
}

/// `8.0` is `8`.
fn whole(number: &Number) -> Value {
    let text = number.to_string();
    let digits = text.strip_suffix(".0").and_then(|d| d.parse().ok());
    Value::Number(digits.unwrap_or_else(|| number.clone()))
}

/// A name in lower case, letters and digits only.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next();
    if items.next().is_none() { first } else { None }
}

#[cfg(test)]
#[path = "normalize_tests.rs"]
mod tests;
