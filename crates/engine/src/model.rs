//! Port to language models. A model streams deltas; a completion is a fold of that stream.
//!
//! Adapters live outside the engine. Their contract: every stream ends with [`Delta::Finish`] or an error, usage is reported
//! before the end if the provider sends it, and text arrives in order.

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

/// One call of a model, independent of the provider. The table renders it and adapters translate it. The prefix that seats of a
/// round have in common comes first and is marked, for prompt caches (C-13). Its hash identifies a step on replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// The provider's name of the model, without the provider.
    pub model: String,
    pub system: String,
    /// Adapters join consecutive messages of one speaker.
    pub messages: Vec<Message>,
    /// Images of the first user message. Only sent to models that [accept images](Model::sees).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    pub schema: Option<Schema>,
    /// Only sent to models that [support tools](Model::calls_tools).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Tools>,
    pub temperature: f64,
    pub max_output_tokens: u32,
    pub seed: u64,
}

impl Request {
    /// All prompt texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.system.as_str()).chain(self.messages.iter().flat_map(Message::texts))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub speaker: Speaker,
    pub text: String,
    /// Other calls have the same prefix up to the end of this message: place a cache breakpoint here.
    pub shared: bool,
    /// The assistant's tool calls after its text, or the tools' results before the user's text.
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
        /// Id of the answered call.
        id: String,
        name: String,
        text: String,
    },
}

/// The tools offered to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tools {
    pub list: Vec<Tool>,
    pub offer: Offer,
}

/// Whether the model may still call tools. Closed tools are still listed, because some providers require the definitions as
/// long as the conversation contains calls.
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

/// A tool call as the model wrote it, unchecked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The provider's id, or a generated one if it sends none; unique within a reply.
    pub id: String,
    pub name: String,
    /// JSON, if the model wrote valid JSON.
    pub arguments: String,
    /// Opaque data that the provider requires to be sent back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// An image in the form providers accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Display name.
    pub name: String,
    /// Such as `image/png`.
    pub media_type: String,
    /// Base64. Shared between calls.
    pub data: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Assistant,
}

/// The JSON schema of a reply: self-contained (no `$ref`), every object closed, every property required.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Schema {
    pub name: String,
    /// Shared between calls: it is often longer than the prompt.
    pub json: Arc<RawJson>,
}

/// JSON as a value and as text; each is computed from the other on first use. A schema is serialized once for all calls.
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

    /// The JSON text.
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

/// One item of a model's stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    Text(String),
    /// Reasoning that the provider sends separately; not part of the text.
    Reasoning(String),
    /// A complete tool call. Calls come after the text and before the end.
    Call(ToolCall),
    /// Usage of one attempt; the table adds up attempts.
    Usage(Usage),
    /// The attempt failed and is retried: discard all text so far.
    Restart {
        reason: String,
        /// Before the next attempt.
        wait: Duration,
    },
    /// A fallback model takes over: discard all text so far.
    Instead(Box<Instead>),
    /// Features that the call went without, for the result (C-18).
    Notice(String),
    Finish(Finish),
}

/// The fallback model that answers instead of the requested one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instead {
    /// `provider:model`
    pub model: String,
    pub because: String,
    pub price: Option<Price>,
}

/// A fallback model and its usage in one or more calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    pub instead: Instead,
    pub used: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    /// The reply was truncated at the token limit.
    Length,
    /// The provider withheld the reply.
    Refused,
}

/// Why a call failed. Callers branch on the variant; `detail` is for people and never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("rate limited ({detail})")]
    RateLimited {
        retry_after: Option<Duration>,
        detail: String,
    },
    #[error("{} ({detail})", failure(*.status))]
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
    #[error("skipped: circuit breaker open ({detail})")]
    BreakerOpen { detail: String },
    #[error("the embedded model failed ({detail})")]
    Local { detail: String },
    #[error("the program cannot be started ({detail})")]
    ProgramMissing { detail: String },
    #[error("the program failed ({detail})")]
    Program { detail: String },
    #[error("the program needs a login ({detail})")]
    Login { detail: String },
    /// The cost of the call could not be counted against the limit.
    #[error("not called under a cost limit ({detail})")]
    Unpriced { detail: String },
}

/// 408 is the server's own timeout; 200 comes with an error in place of a reply.
fn failure(status: u16) -> String {
    match status {
        200 => "the server answered with an error in place of a reply".into(),
        408 => "the server gave up waiting (status 408)".into(),
        status => format!("the server failed with status {status}"),
    }
}

impl ModelError {
    /// Whether a retry may succeed (C-07).
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
            | Self::BreakerOpen { .. }
            | Self::Local { .. }
            | Self::ProgramMissing { .. }
            | Self::Program { .. }
            | Self::Login { .. }
            | Self::Unpriced { .. } => false,
        }
    }

    /// The same error with an addition to its detail.
    #[must_use]
    pub fn with_detail(mut self, addition: &str) -> Self {
        if let Self::RateLimited { detail, .. } | Self::Server { detail, .. } = &mut self {
            *detail = format!("{detail}; {addition}");
        }
        self
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
            | Self::BreakerOpen { .. }
            | Self::Local { .. }
            | Self::ProgramMissing { .. }
            | Self::Program { .. }
            | Self::Login { .. }
            | Self::Unpriced { .. } => None,
        }
    }
}

/// The properties of a model that the engine needs before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Input and output together; `None` if unknown.
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

/// The stream of one call.
pub type Deltas = BoxStream<'static, Result<Delta, ModelError>>;

/// A language model. Implementations include retries and fallbacks and report them in the stream.
pub trait Model: Send + Sync {
    /// Starts a call. The stream ends with [`Delta::Finish`] or an error; dropping it cancels the call.
    fn stream(&self, request: Request) -> Deltas;

    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// Whether the model accepts images.
    fn sees(&self) -> bool {
        false
    }

    /// Whether the model supports tools.
    fn calls_tools(&self) -> bool {
        false
    }
}
