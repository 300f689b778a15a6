//! A reply that says what was asked for, spelled otherwise: within one more object, names and choices in another case, a
//! single thing where a list of them belongs, and more than was asked for.
//!
//! Nothing is made up, and nothing that was asked for is lost: as long as a property is missing, what has a name that
//! nobody knows stays where it is, for it may be the missing one. Texts and numbers are left as they are: a score of "70" is
//! no score, and is asked for again.

use serde_json::{Map, Number, Value, json};

/// The reply as its schema spells it; `None` where that changes nothing.
pub(super) fn fitted(value: &Value, schema: &Value) -> Option<Value> {
    let fitted = fit(unwrapped(value, schema), schema);
    (fitted != *value).then_some(fitted)
}

/// What is within, where all of it stands under one name that is none of the reply's own.
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

fn fit(value: &Value, schema: &Value) -> Value {
    if value.is_null() {
        let is_list = schema["type"] == "array";
        return if is_list { json!([]) } else { Value::Null };
    }
    let schema = without_null(schema);
    let kinds = &schema["type"];
    let may_be = |kind: &str| match kinds.as_array() {
        Some(kinds) => kinds.iter().any(|it| it == kind),
        None => kinds == kind,
    };
    match value {
        Value::Object(fields) if may_be("object") => Value::Object(fit_fields(fields, schema)),
        Value::Array(items) if may_be("array") => items
            .iter()
            .map(|item| fit(item, &schema["items"]))
            .collect(),
        // Of a text nobody knows whether it is one thing, several or the word "none".
        Value::Object(_) if may_be("array") => json!([fit(value, &schema["items"])]),
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

/// The one thing that it can be besides nothing.
fn without_null(schema: &Value) -> &Value {
    let branches = schema["anyOf"].as_array();
    let mut some = branches
        .into_iter()
        .flatten()
        .filter(|it| it["type"] != "null");
    match (some.next(), some.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

fn fit_fields(fields: &Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let Some(properties) = schema["properties"].as_object() else {
        let each = &schema["additionalProperties"];
        let fit = |(name, value): (&String, &Value)| (name.clone(), fit(value, each));
        return fields.iter().map(fit).collect();
    };
    let mut known = Map::new();
    let mut unknown = Map::new();
    for (name, value) in fields {
        let meant = if properties.contains_key(name) {
            Some(name)
        } else {
            only(properties.keys().filter(|it| plain(it) == plain(name)))
                .filter(|meant| !fields.contains_key(*meant))
        };
        match meant {
            Some(meant) => known.insert(meant.clone(), fit(value, &properties[meant])),
            None => unknown.insert(name.clone(), value.clone()),
        };
    }
    let is_complete = properties.keys().all(|name| known.contains_key(name));
    if !is_complete {
        known.append(&mut unknown);
    }
    known
}

/// Which of the choices is meant, where only one can be.
fn choice(text: &str, choices: &Value) -> Value {
    let choices = choices
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let alike = choices.filter(|it| *it == text || plain(it) == plain(text));
    json!(only(alike).unwrap_or(text))
}

/// `8.0` is `8`.
fn whole(number: &Number) -> Value {
    let text = number.to_string();
    let digits = text.strip_suffix(".0").and_then(|it| it.parse().ok());
    Value::Number(digits.unwrap_or_else(|| number.clone()))
}

/// A name without what people and models write differently.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn only<T>(mut of: impl Iterator<Item = T>) -> Option<T> {
    let first = of.next();
    if of.next().is_none() { first } else { None }
}

#[cfg(test)]
#[path = "normalize_tests.rs"]
mod tests;
