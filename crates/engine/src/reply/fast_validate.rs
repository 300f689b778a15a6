//! Whether a value fits a schema, for the few keywords that the schemas of replies are made of.
//!
//! Nearly every reply fits. A validator that can say in words what does not takes longer to build than all the replies of a
//! debate take to read, so one is built only when something has to be said.

use serde_json::{Map, Value};

use super::schema::SENT;

/// `None` where the schema says something that is not understood here.
pub(super) fn fits(value: &Value, schema: &Value) -> Option<bool> {
    match schema {
        Value::Bool(anything) => Some(*anything),
        Value::Object(schema) => all(schema, |(keyword, argument)| {
            satisfies(value, schema, keyword, argument)
        }),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn satisfies(
    value: &Value,
    schema: &Map<String, Value>,
    keyword: &str,
    argument: &Value,
) -> Option<bool> {
    match (keyword, value) {
        ("type", _) => match argument.as_array() {
            Some(kinds) => any(kinds, |kind| is(value, kind)),
            None => is(value, argument),
        },
        ("const", _) => is_same(value, argument),
        ("enum", _) => any(argument.as_array()?, |choice| is_same(value, choice)),
        ("anyOf", _) => any(argument.as_array()?, |schema| fits(value, schema)),
        ("oneOf", _) => {
            let schemas = argument.as_array()?.iter();
            let fitting: Option<Vec<_>> = schemas.map(|schema| fits(value, schema)).collect();
            Some(fitting?.into_iter().filter(|fits| *fits).count() == 1)
        }
        ("minimum", Value::Number(number)) => Some(number.as_f64()? >= argument.as_f64()?),
        ("maximum", Value::Number(number)) => Some(number.as_f64()? <= argument.as_f64()?),
        ("minLength", Value::String(text)) => Some(text.chars().count() >= count(argument)?),
        ("maxLength", Value::String(text)) => Some(text.chars().count() <= count(argument)?),
        ("minItems", Value::Array(items)) => Some(items.len() >= count(argument)?),
        ("maxItems", Value::Array(items)) => Some(items.len() <= count(argument)?),
        ("items", Value::Array(items)) => all(items, |item| fits(item, argument)),
        ("required", Value::Object(fields)) => all(argument.as_array()?, |name| {
            Some(fields.contains_key(name.as_str()?))
        }),
        ("properties", Value::Object(fields)) => all(argument.as_object()?, |(name, schema)| {
            fields.get(name).map_or(Some(true), |it| fits(it, schema))
        }),
        ("additionalProperties", Value::Object(fields)) => {
            let known = schema.get("properties").and_then(Value::as_object);
            let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
            let mut others = fields.iter().filter(|(name, _)| !is_known(name));
            all(&mut others, |(_, field)| fits(field, argument))
        }
        // Of values of another kind these say nothing, and the last ones of none.
        (
            "minimum"
            | "maximum"
            | "minLength"
            | "maxLength"
            | "minItems"
            | "maxItems"
            | "items"
            | "required"
            | "properties"
            | "additionalProperties"
            | "description"
            | "default"
            | SENT,
            _,
        ) => Some(true),
        _ => None,
    }
}

fn is(value: &Value, kind: &Value) -> Option<bool> {
    match (kind.as_str()?, value) {
        ("null", _) => Some(value.is_null()),
        ("boolean", _) => Some(value.is_boolean()),
        ("string", _) => Some(value.is_string()),
        ("array", _) => Some(value.is_array()),
        ("object", _) => Some(value.is_object()),
        ("number", _) => Some(value.is_number()),
        // Whether 2.0 is one is not for this place to say.
        ("integer", Value::Number(number)) => (!number.is_f64()).then_some(true),
        ("integer", _) => Some(false),
        _ => None,
    }
}

/// Numbers can be the same without looking so.
fn is_same(value: &Value, other: &Value) -> Option<bool> {
    match (value, other) {
        (Value::String(one), Value::String(other)) => Some(one == other),
        (Value::String(_), _) | (_, Value::String(_)) => Some(false),
        _ if value == other => Some(true),
        _ => None,
    }
}

fn count(argument: &Value) -> Option<usize> {
    argument.as_u64()?.try_into().ok()
}

fn all<I: IntoIterator>(items: I, mut holds: impl FnMut(I::Item) -> Option<bool>) -> Option<bool> {
    for item in items {
        if !holds(item)? {
            return Some(false);
        }
    }
    Some(true)
}

fn any<I: IntoIterator>(items: I, mut holds: impl FnMut(I::Item) -> Option<bool>) -> Option<bool> {
    for item in items {
        if holds(item)? {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
#[path = "fast_validate_tests.rs"]
mod tests;
