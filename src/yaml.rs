//! Reads YAML files that users write. Errors name the file, the line and the nearest valid name.

use std::path::Path;

use roundtable_engine::data::{closest, read_regular_text};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;

/// A record with its sources is the largest of these files.
const MAX_BYTES: u64 = 20_000_000;

pub(crate) fn read<T: DeserializeOwned + JsonSchema>(path: &Path) -> Result<T, Failure> {
    let text = read_regular_text(path, MAX_BYTES)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    parse(&path.display().to_string(), &text)
}

pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(
    file: &str,
    text: &str,
) -> Result<T, Failure> {
    // A file without fields gets a clearer error than serde's.
    if let Ok(whole) = serde_saphyr::from_str::<Value>(text)
        && !whole.is_object()
    {
        let found = describe(&whole);
        let expected = top_level_fields::<T>();
        return Err(Failure::usage(format!(
            "{file} {found}; expected YAML or JSON that starts with {expected}"
        )));
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.without_snippet();
        let line = error.location().map_or(1, |at| at.line());
        Failure::usage(format!("{file}:{line}: {}", message(error)))
    })
}

fn describe(whole: &Value) -> String {
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
fn top_level_fields<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T);
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flat_map(serde_json::Map::keys);
    let fields: Vec<String> = fields.map(|name| format!("'{name}:'")).collect();
    fields.join(" or ")
}

fn message(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => unknown("field", field, expected),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => unknown("value", variant, expected),
        Error::SerdeMissingField { field, .. } => format!("missing field '{field}'"),
        Error::Unexpected { expected, .. } => match *expected {
            "mapping start" => "expected fields here, each on a line such as 'name: value'",
            "sequence start" => "expected a list here, each line starting with '- '",
            "scalar" | "string scalar" => "expected a single value here, not a list or fields",
            other => other,
        }
        .to_owned(),
        other => {
            // The location is already in front of the message.
            let message = other.to_string();
            let end = message.rfind(" at line ").unwrap_or(message.len());
            message[..end].replace('\n', " ")
        }
    }
}

fn unknown(what: &str, found: &str, expected: &[&'static str]) -> String {
    match closest(found, expected.iter().copied()) {
        Some(close) => format!("unknown {what} '{found}'; did you mean '{close}'?"),
        None => format!(
            "unknown {what} '{found}'; expected one of: {}",
            expected.join(", ")
        ),
    }
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
