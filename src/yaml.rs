//! YAML files that people write: what is wrong with one is said with file, line and the name that was probably meant.

use std::path::Path;

use roundtable_engine::data::closest;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;

pub(crate) fn read<T: DeserializeOwned + JsonSchema>(path: &Path) -> Result<T, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    parse(&path.display().to_string(), &text)
}

pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(
    file: &str,
    text: &str,
) -> Result<T, Failure> {
    // What is something else altogether is told as that, before anybody looks for fields in it.
    if let Ok(whole) = serde_saphyr::from_str::<Value>(text)
        && !whole.is_object()
    {
        let found = kind_of(&whole);
        let expected = beginnings::<T>();
        return Err(Failure::usage(format!(
            "{file} {found}; expected YAML or JSON that begins with {expected}"
        )));
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.without_snippet();
        let line = error.location().map_or(1, |at| at.line());
        Failure::usage(format!("{file}:{line}: {}", said(error)))
    })
}

fn kind_of(whole: &Value) -> String {
    match whole {
        Value::Null => "is empty".to_owned(),
        Value::Array(_) => "is a list".to_owned(),
        Value::String(_) | Value::Bool(_) | Value::Number(_) => {
            "is plain text without fields".to_owned()
        }
        Value::Object(_) => "has fields".to_owned(),
    }
}

/// `'implementation_tracking:' or 'post_mortem_assessment:'`
fn beginnings<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T);
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flat_map(serde_json::Map::keys);
    let fields: Vec<String> = fields.map(|name| format!("'{name}:'")).collect();
    fields.join(" or ")
}

fn said(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error::{
        SerdeMissingField, SerdeUnknownField, SerdeUnknownVariant, Unexpected,
    };
    if let SerdeUnknownField {
        field, expected, ..
    } = error
    {
        return unknown("field", field, expected);
    }
    if let SerdeUnknownVariant {
        variant, expected, ..
    } = error
    {
        return unknown("value", variant, expected);
    }
    if let SerdeMissingField { field, .. } = error {
        return format!("the field '{field}' is missing");
    }
    if let Unexpected { expected, .. } = error {
        let expected = match *expected {
            "mapping start" => "fields are expected here, each on a line such as 'name: value'",
            "sequence start" => "a list is expected here, each of its lines beginning with '- '",
            "scalar" | "string scalar" => {
                "a single value is expected here, not a list and not fields"
            }
            other => other,
        };
        return expected.to_owned();
    }
    // The place is said before the message already.
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].replace('\n', " ")
}

fn unknown(what: &str, found: &str, expected: &[&'static str]) -> String {
    match closest(found, expected.iter().copied()) {
        Some(close) => format!("there is no {what} '{found}'; did you mean '{close}'?"),
        None => format!(
            "there is no {what} '{found}'; there are: {}",
            expected.join(", ")
        ),
    }
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
