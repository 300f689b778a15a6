//! A request for a debate or a side job, independent of its endpoint.

use axum::http::StatusCode;
use jsonschema::Validator;
use roundtable_engine::model::Image;
use serde_json::{Map, Value, json};

use super::super::problem::Problem;
use crate::failure::Fault;

/// Limits of OpenAI's API.
const MAX_STOPS: usize = 4;
const MAX_METADATA: usize = 16;

/// A checked request.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) model: String,
    pub(super) turns: Vec<Turn>,
    pub(super) stop: Vec<String>,
    pub(super) max_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
    pub(super) seed: Option<u64>,
    pub(super) form: Form,
}

impl Ask {
    /// Parameters of the request that a debate does not follow: the cast sets the temperature of each seat, because blind seats
    /// have to differ and judges must not.
    pub(super) fn ignored(&self) -> Vec<&'static str> {
        let temperature = self.temperature.map(|_| "temperature");
        temperature.into_iter().collect()
    }
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) role: Role,
    pub(super) text: String,
    pub(super) images: Vec<Image>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Also `developer`.
    System,
    User,
    Assistant,
    Tool,
}

/// The form of the answer.
#[derive(Debug)]
pub(super) enum Form {
    Text,
    JsonObject,
    JsonSchema(Box<JsonForm>),
}

#[derive(Debug)]
pub(super) struct JsonForm {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) validator: Validator,
}

/// An invalid value of the request.
pub(super) fn invalid(at: &str, message: impl Into<String>) -> Problem {
    Problem::invalid_at(at, message)
}

/// Something that OpenAI's API has and a debate has not.
pub(super) fn unsupported(at: &str, message: impl Into<String>) -> Problem {
    invalid(at, message).renamed(StatusCode::BAD_REQUEST, "unsupported-parameter")
}

impl Role {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "system" | "developer" => Some(Self::System),
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "tool" | "function" => Some(Self::Tool),
            _ => None,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::System => "Instructions",
            Self::User => "User",
            Self::Assistant => "Assistant",
            Self::Tool => "Tool",
        }
    }
}

/// Text and images of a message's parts, whose types differ by endpoint.
#[derive(Debug, Default)]
pub(super) struct Parts {
    text: String,
    images: Vec<Image>,
}

impl Parts {
    /// The message at `at` with these parts.
    pub(super) fn by(self, role: &str, at: &str) -> Result<Turn, Problem> {
        let unknown = || invalid(&format!("{at}/role"), format!("unknown role '{role}'"));
        Ok(Turn {
            role: Role::named(role).ok_or_else(unknown)?,
            text: self.text,
            images: self.images,
        })
    }

    pub(super) fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// An image has to be in the request: the server fetches nothing for a client.
    pub(super) fn add_image(&mut self, at: &str, url: &str) -> Result<(), Problem> {
        let name = format!("image {}", self.images.len() + 1);
        let inline = url
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(";base64,"));
        let known = ["image/png", "image/jpeg", "image/webp", "image/gif"];
        let inline = inline.filter(|(media_type, _)| known.contains(media_type));
        let is_base64 = |data: &str| {
            let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            !data.is_empty() && data.bytes().all(is_digit)
        };
        match inline.filter(|(_, data)| is_base64(data)) {
            Some((media_type, data)) => {
                self.images.push(Image {
                    name,
                    media_type: media_type.to_owned(),
                    data: data.into(),
                });
                Ok(())
            }
            None => Err(invalid(
                at,
                "expected an image as a data URL: data:image/png;base64,… (png, jpeg, webp or gif); the server does not fetch URLs",
            )),
        }
    }
}

/// Checks `stop`.
pub(super) fn stops(stops: Vec<String>) -> Result<Vec<String>, Problem> {
    if stops.len() > MAX_STOPS || stops.iter().any(String::is_empty) {
        let message = format!("expected up to {MAX_STOPS} texts that are not empty");
        return Err(invalid("/stop", message));
    }
    Ok(stops)
}

/// Checks `metadata`, which has no effect.
pub(super) fn check_metadata(metadata: &Map<String, Value>) -> Result<(), Problem> {
    if metadata.len() > MAX_METADATA {
        let message = format!("expected up to {MAX_METADATA} entries");
        return Err(invalid("/metadata", message));
    }
    Ok(())
}

/// A seed of OpenAI's API may be negative.
pub(super) fn seed(seed: i64) -> u64 {
    const MAX: u64 = 9_007_199_254_740_991;
    seed.unsigned_abs() & MAX
}

/// A part of a message that no seat can read. `readable` are the types that can be sent.
pub(super) fn unreadable(at: &str, kind: &str, readable: &str) -> Problem {
    let message =
        format!("a debate cannot read a part of type '{kind}': send {readable} with a data URL");
    unsupported(at, message)
}

/// The form with this type. `at` and `schema` are those of a `json_schema`, with its name.
pub(super) fn form(
    kind: &str,
    at: &str,
    schema: Option<(&str, Option<&Value>)>,
) -> Result<Form, Problem> {
    match (kind, schema) {
        ("json_object", _) => Ok(Form::JsonObject),
        ("json_schema", Some((name, schema))) => {
            let schema = schema.cloned().unwrap_or_else(|| json!({}));
            json_form(&format!("{at}/schema"), name, schema)
        }
        ("json_schema", None) => Err(invalid(at, "expected a name and a schema")),
        _ => Ok(Form::Text),
    }
}

/// The form that a JSON schema asks for. References into other documents are refused.
pub(super) fn json_form(at: &str, name: &str, schema: Value) -> Result<Form, Problem> {
    let is_object = schema.is_object();
    let validator =
        is_object.then(|| jsonschema::validator_for(&schema).map_err(|error| error.to_string()));
    match validator {
        Some(Ok(validator)) => Ok(Form::JsonSchema(Box::new(JsonForm {
            name: name.to_owned(),
            schema,
            validator,
        }))),
        Some(Err(error)) => {
            let error: String = error.chars().take(300).collect();
            Err(invalid(at, format!("not a valid JSON schema: {error}")))
        }
        None => Err(invalid(at, "expected a JSON schema: an object")),
    }
}

/// A parameter with only one supported value.
pub(super) fn only<T: PartialEq>(
    value: Option<T>,
    supported: &T,
    fault: Fault,
) -> Result<(), Problem> {
    match value {
        Some(value) if value != *supported => Err(unsupported(&fault.at, fault.message)),
        _ => Ok(()),
    }
}
