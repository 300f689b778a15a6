//! YAML files that people write: what is wrong with one is said with file, line and the name that was probably meant.

use std::path::Path;

use roundtable_engine::data::closest;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    parse(&path.display().to_string(), &text)
}

pub(crate) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Failure> {
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.without_snippet();
        let line = error.location().map_or(1, |at| at.line());
        Failure::usage(format!("{file}:{line}: {}", said(error)))
    })
}

fn said(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error::{SerdeMissingField, SerdeUnknownField, SerdeUnknownVariant};
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
