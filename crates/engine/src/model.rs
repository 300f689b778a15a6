//! The port to language models. A model is something that streams; a completion is a fold of that stream.
//!
//! Adapters live outside the engine. They promise: every stream ends with [`Delta::Finish`] or an error, usage is
//! reported before the end where the provider tells it, and text arrives in order.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::stream::BoxStream;
use roundtable_core::usage::{Price, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// One call. What the seats of a round share comes first and is marked, so that prompt caches hit (C-13).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// The provider's own name of the model, without the provider.
    pub model: String,
    pub system: String,
    /// Neighbouring messages of one speaker are one message to the provider.
    pub messages: Vec<Message>,
    /// Pictures that belong to the first message of the user. Only models that [see](Model::sees) are sent any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    pub schema: Option<Schema>,
    /// Only models that [call tools](Model::calls_tools) are sent any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Tools>,
    pub temperature: f64,
    pub max_output_tokens: u32,
    pub seed: u64,
}

impl Request {
    /// Everything the model is given to read.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.system.as_str()).chain(self.messages.iter().flat_map(Message::texts))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub speaker: Speaker,
    pub text: String,
    /// Everything up to the end of this message is the same for other calls: a cache breakpoint belongs here.
    pub shared: bool,
    /// What the assistant asked of tools after its text, or what the tools answered before the user's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolPart>,
}

impl Message {
    fn texts(&self) -> impl Iterator<Item = &str> {
        let parts = self.tools.iter().map(|part| match part {
            ToolPart::Call(call) => call.arguments.as_str(),
            ToolPart::Result { text, .. } => text.as_str(),
        });
        std::iter::once(self.text.as_str()).chain(parts)
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.tools.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPart {
    Call(ToolCall),
    Result {
        /// Of the call that is answered.
        id: String,
        name: String,
        text: String,
    },
}

/// The tools a model may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tools {
    pub list: Vec<Tool>,
    pub offer: Offer,
}

/// Whether the model may still call tools. Some providers want to know them as long as the conversation mentions them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    Open,
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// The JSON schema of its arguments: an object.
    pub parameters: Arc<RawJson>,
}

/// What a model asks of a tool, as it said it: nothing is checked yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's, or made up where it gives none; unique within a reply.
    pub id: String,
    pub name: String,
    /// JSON, if the model kept to it.
    pub arguments: String,
    /// What the provider wants back with the call, and nobody else understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A picture as providers take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// What people call it.
    pub name: String,
    /// Such as `image/png`.
    pub media_type: String,
    /// In base64. Shared: it is the same in every call.
    pub data: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Assistant,
}

/// The JSON schema a reply has to fit, self-contained (no `$ref`), every object closed and every property required.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Schema {
    pub name: String,
    /// Shared: it is the same for every call of its kind, and often longer than what is said.
    pub json: Arc<RawJson>,
}

/// JSON and its text, each made from the other once it is asked for: what is sent with every call is written out once, and
/// what is only sent is never read.
#[derive(Debug, Clone, Default)]
pub struct RawJson {
    value: OnceLock<Value>,
    text: OnceLock<Option<Box<RawValue>>>,
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self {
            value: OnceLock::from(value),
            text: OnceLock::new(),
        }
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(text: Box<RawValue>) -> Self {
        Self {
            value: OnceLock::new(),
            text: OnceLock::from(Some(text)),
        }
    }
}

impl Deref for RawJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| {
            let text = self.text.get().and_then(Option::as_deref);
            text.and_then(|text| serde_json::from_str(text.get()).ok())
                .unwrap_or_default()
        })
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for RawJson {}

impl RawJson {
    fn raw(&self) -> Option<&RawValue> {
        let write = || serde_json::value::to_raw_value(&**self).ok();
        self.text.get_or_init(write).as_deref()
    }

    /// As it is sent.
    pub fn text(&self) -> &str {
        self.raw().map_or("", RawValue::get)
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.raw() {
            Some(text) => text.serialize(serializer),
            None => (**self).serialize(serializer),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    Text(String),
    /// Thinking that the provider sends apart from the reply. It is not part of the text.
    Reasoning(String),
    /// A whole call of a tool. Calls come after the text and before the end.
    Call(ToolCall),
    /// What the call has used. Adapters send it once per attempt; the table adds attempts up.
    Usage(Usage),
    /// The attempt failed and the call begins anew: all text so far is void.
    Restart {
        reason: String,
    },
    /// Another model answers from here on: all text so far is void.
    Instead(Box<Instead>),
    Finish(Finish),
}

/// Who answers in place of the model that was asked, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Instead {
    /// `provider:model`
    pub model: String,
    pub because: String,
    pub price: Option<Price>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    /// The reply hit the token limit and is cut.
    Length,
    /// The provider withheld the reply.
    Refused,
}

/// Why a call failed. Variants are what callers branch on; `detail` is for people and never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("rate limited ({detail})")]
    RateLimited {
        retry_after: Option<Duration>,
        detail: String,
    },
    #[error("the server failed with status {status} ({detail})")]
    Server {
        status: u16,
        retry_after: Option<Duration>,
        detail: String,
    },
    #[error("no answer within {} s", after.as_secs_f64())]
    Timeout { after: Duration },
    #[error("cannot reach the server ({detail})")]
    Unreachable { detail: String },
    #[error("the stream broke off ({detail})")]
    Interrupted { detail: String },
    #[error("the key was refused ({detail})")]
    Unauthorized { detail: String },
    #[error("the server does not know this model ({detail})")]
    UnknownModel { detail: String },
    #[error("the prompt is too long for this model ({detail})")]
    TooLong { detail: String },
    #[error("the request was refused with status {status} ({detail})")]
    Rejected { status: u16, detail: String },
    #[error("this is not the answer of a model server ({detail})")]
    NotAModelServer { detail: String },
    #[error("not asked ({detail})")]
    LeftAlone { detail: String },
    #[error("the embedded model failed ({detail})")]
    Local { detail: String },
}

impl ModelError {
    /// Whether the same call may well succeed a little later (C-07).
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Server { .. }
            | Self::Timeout { .. }
            | Self::Unreachable { .. }
            | Self::Interrupted { .. } => true,
            Self::Unauthorized { .. }
            | Self::UnknownModel { .. }
            | Self::TooLong { .. }
            | Self::Rejected { .. }
            | Self::NotAModelServer { .. }
            | Self::LeftAlone { .. }
            | Self::Local { .. } => false,
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => {
                *retry_after
            }
            Self::Timeout { .. }
            | Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Unauthorized { .. }
            | Self::UnknownModel { .. }
            | Self::TooLong { .. }
            | Self::Rejected { .. }
            | Self::NotAModelServer { .. }
            | Self::LeftAlone { .. }
            | Self::Local { .. } => None,
        }
    }
}

/// What the engine must know about a model before it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Input and output together, where it is known.
    pub context_tokens: Option<u32>,
    pub ability: Ability,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            context_tokens: None,
            ability: Ability::Full,
        }
    }
}

/// Small models get tighter bounds in the schema and examples in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    Full,
    Small,
}

pub type Deltas = BoxStream<'static, Result<Delta, ModelError>>;

pub trait Model: Send + Sync {
    fn stream(&self, request: Request) -> Deltas;

    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// Whether it can be sent pictures.
    fn sees(&self) -> bool {
        false
    }

    /// Whether it can be offered tools.
    fn calls_tools(&self) -> bool {
        false
    }
}
