//! The faults of a reply, in plain words for the model and for people, and which of them can be repaired without another call.

use std::fmt::Write;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// A violation of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// JSON pointer into the reply; empty for the root.
    pub(super) place: String,
    /// `vote must be ACCEPT, MINOR or BLOCKER`
    pub(super) message: String,
    /// A value is wrong, not the shape: another model cannot correct it without guessing.
    pub(super) is_value: bool,
    mending: Option<Mending>,
}

/// A change that keeps the reply usable and invents nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mending {
    /// Cut a text to at most this many characters.
    Cut(usize),
    /// Leave out the value of an optional property.
    Null,
    Remove,
}

impl Fault {
    /// `schema` is the one that `error` refers to.
    pub(super) fn of(error: &ValidationError<'_>, schema: &Value) -> Self {
        let place = error.instance_path().to_string();
        let is_value = is_value(error);
        let mending = match error.kind() {
            Kind::MaxLength { limit } => usize::try_from(*limit).ok().map(Mending::Cut),
            _ if is_value => optional(&error.schema_path().to_string(), schema),
            _ => None,
        };
        Self {
            message: message(error, &named(&place), schema),
            place,
            is_value,
            mending,
        }
    }

    /// Mends the reply and says how. `None` if this fault cannot be mended.
    pub(super) fn mend(&self, reply: &mut Value) -> Option<String> {
        let name = named(&self.place);
        match self.mending? {
            Mending::Cut(limit) => {
                let text = reply.pointer_mut(&self.place)?;
                let cut = shortened(text.as_str()?, limit);
                *text = Value::String(cut);
                Some(format!("{name} was cut to {limit} characters."))
            }
            Mending::Null => {
                *reply.pointer_mut(&self.place)? = Value::Null;
                Some(format!("{name} was left out: {}.", self.message))
            }
            Mending::Remove => {
                let (parent, property) = self.place.rsplit_once('/')?;
                let object = reply.pointer_mut(parent)?.as_object_mut()?;
                object.remove(property)?;
                Some(format!("{name} was left out: {}.", self.message))
            }
        }
    }
}

/// `verdicts 1, status` for `/verdicts/0/status`; `the reply` for the root.
fn named(place: &str) -> String {
    // Writing to a String cannot fail.
    let mut name = String::new();
    for part in place.split('/').skip(1) {
        match part.parse::<usize>() {
            Ok(index) => {
                let _ = write!(name, " {}", index + 1);
            }
            Err(_) if name.is_empty() => name.push_str(part),
            Err(_) => {
                let _ = write!(name, ", {part}");
            }
        }
    }
    if name.is_empty() {
        name.push_str("the reply");
    }
    name
}

fn message(error: &ValidationError<'_>, name: &str, schema: &Value) -> String {
    match error.kind() {
        Kind::Required { property } => {
            let property = property.as_str().unwrap_or_default();
            match error.instance_path().to_string().as_str() {
                "" => format!("{property} is missing"),
                _ => format!("{property} is missing in {name}"),
            }
        }
        Kind::AdditionalProperties { unexpected } => {
            format!("{name} has unknown properties: {}", unexpected.join(", "))
        }
        Kind::Enum { options } => {
            format!("{name} must be {}", listed(&strings(options.as_array())))
        }
        Kind::Constant { expected_value } => format!("{name} must be {expected_value}"),
        Kind::OneOfNotValid { .. } | Kind::AnyOf { .. } => {
            let branches = schema.pointer(&error.schema_path().to_string());
            let constants = branches.and_then(Value::as_array).into_iter().flatten();
            let constants: Vec<&str> = constants.filter_map(|b| b["const"].as_str()).collect();
            if constants.is_empty() {
                format!("{name} has none of the allowed forms")
            } else {
                format!("{name} must be {}", listed(&constants))
            }
        }
        Kind::Type { kind } => format!("{name} must be {}", types(kind)),
        Kind::Minimum { limit } => format!("{name} must be at least {}", number(limit)),
        Kind::Maximum { limit } => format!("{name} must be at most {}", number(limit)),
        Kind::ExclusiveMinimum { limit } => format!("{name} must be more than {}", number(limit)),
        Kind::ExclusiveMaximum { limit } => format!("{name} must be less than {}", number(limit)),
        Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } => {
            format!("{name} must not be empty")
        }
        Kind::MinLength { limit } => format!("{name} must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("{name} must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("{name} must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("{name} must have at most {limit} items"),
        _ => format!("{name}: {error}"),
    }
}

/// `0` for `0.0`
fn number(limit: &Value) -> String {
    let text = limit.to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn strings(values: Option<&Vec<Value>>) -> Vec<&str> {
    let values = values.into_iter().flatten();
    values.filter_map(Value::as_str).collect()
}

/// `ACCEPT, MINOR or BLOCKER`
fn listed(options: &[&str]) -> String {
    match options {
        [] => "another value".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn types(kind: &TypeKind) -> String {
    let name = |kind: JsonType| match kind {
        JsonType::Array => Some("a list"),
        JsonType::Boolean => Some("true or false"),
        JsonType::Integer => Some("a whole number"),
        JsonType::Null => None,
        JsonType::Number => Some("a number"),
        JsonType::Object => Some("an object"),
        JsonType::String => Some("a text"),
    };
    match kind {
        TypeKind::Single(kind) => listed(name(*kind).as_slice()),
        TypeKind::Multiple(kinds) => listed(&kinds.iter().filter_map(name).collect::<Vec<_>>()),
    }
}

/// Whether the seat gave a value that is not allowed. A number in quotes is only written in another way.
fn is_value(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        Kind::Required { .. } | Kind::AdditionalProperties { .. } => false,
        Kind::Type { .. } => match error.instance().as_ref() {
            Value::Object(_) | Value::Array(_) => false,
            Value::String(text) => text.trim().parse::<f64>().is_err(),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        },
        _ => true,
    }
}

/// How the value at this place of the schema can be left out, if its property is optional.
fn optional(schema_path: &str, schema: &Value) -> Option<Mending> {
    let (object, rest) = schema_path.rsplit_once("/properties/")?;
    let name = rest.split('/').next()?;
    let object = schema.pointer(object)?;
    let property = &object["properties"][name];
    let is_null = |kind: &Value| kind == "null";
    let is_nullable = property["type"]
        .as_array()
        .is_some_and(|kinds| kinds.iter().any(is_null))
        || property["anyOf"]
            .as_array()
            .is_some_and(|branches| branches.iter().any(|branch| is_null(&branch["type"])));
    if rest.contains("/items/") {
        // An item of a list, not the property.
        None
    } else if is_nullable {
        Some(Mending::Null)
    } else if !strings(object["required"].as_array()).contains(&name) {
        Some(Mending::Remove)
    } else {
        None
    }
}

/// At most `limit` characters, cut at the end of a word, with an ellipsis.
fn shortened(text: &str, limit: usize) -> String {
    let room = limit.saturating_sub(1);
    let end = text
        .char_indices()
        .nth(room)
        .map_or(text.len(), |(at, _)| at);
    let head = &text[..end];
    let words = head
        .rfind(char::is_whitespace)
        .map_or(head, |at| &head[..at]);
    // A text without spaces is cut anywhere.
    let kept = if words.len() * 2 < head.len() {
        head
    } else {
        words
    };
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
#[path = "faults_tests.rs"]
mod tests;
