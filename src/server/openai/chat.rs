//! `/v1/chat/completions`

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::App;
use super::super::problem::Problem;
use super::super::requests::Sent;
use super::answer::{self, Answer, TokenUsage};
use super::ask::{self, Ask, Form, Parts, Turn, only, unsupported};
use super::respond::{Sender, respond};
use super::stream::{Wire, data};
use super::{catalog, errors};
use crate::clock;
use crate::failure::Fault;

/// A request of OpenAI's chat API. Fields that are not listed here have no effect.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ChatRequest {
    /// A model of `/v1/models`.
    model: String,
    /// The last message of the user is the question; the others are quoted as its context.
    #[schemars(length(min = 1))]
    messages: Vec<ChatMessage>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// A debate has one answer: only 1.
    #[serde(default)]
    n: Option<i64>,
    /// The answer ends before the first of these texts.
    #[serde(default)]
    stop: Option<Stop>,
    /// The maximum length of the answer; it does not limit the debate.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    max_tokens: Option<u64>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    max_completion_tokens: Option<u64>,
    /// Checked, but without effect on a debate: the cast sets the temperature of each seat. `roundtable.ignored` says so.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    #[serde(default)]
    seed: Option<i64>,
    /// `json_object` and `json_schema` have the answer put into that form by a last call.
    #[serde(default)]
    response_format: Option<ResponseFormat>,
    #[serde(default)]
    user: Option<String>,
    /// Sent back with the answer.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// Refused, unless `tool_choice` is `none`: a debate calls no tools of the client.
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    /// Refused.
    #[serde(default)]
    functions: Option<Vec<Value>>,
    #[serde(default)]
    logprobs: Option<bool>,
    #[serde(default)]
    modalities: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct ChatMessage {
    #[schemars(extend("enum" = ["system", "developer", "user", "assistant", "tool", "function"]))]
    role: String,
    #[serde(default)]
    content: Option<MessageContent>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum MessageContent {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct ContentPart {
    /// `text` or `image_url`.
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    image_url: Option<ImageUrl>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct ImageUrl {
    /// A data URL.
    url: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Stop {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct StreamOptions {
    /// Sends the usage of all calls in a last chunk.
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct ResponseFormat {
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["text", "json_object", "json_schema"]))]
    kind: String,
    #[serde(default)]
    json_schema: Option<NamedSchema>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct NamedSchema {
    name: String,
    #[serde(default)]
    schema: Option<Value>,
}

impl ChatRequest {
    fn ask(&self) -> Result<Ask, Problem> {
        let one = Fault::new("/n", "n must be 1: a debate has one answer");
        only(self.n, &1, one)?;
        self.refuse_tools()?;
        if self.logprobs == Some(true) {
            return Err(unsupported(
                "/logprobs",
                "a debate has no log probabilities",
            ));
        }
        let is_text = |modalities: &Vec<String>| modalities.iter().all(|kind| kind == "text");
        if !self.modalities.as_ref().is_none_or(is_text) {
            return Err(unsupported("/modalities", "a debate answers in text only"));
        }
        if let Some(metadata) = &self.metadata {
            ask::check_metadata(metadata)?;
        }
        let turns = self.messages.iter().enumerate();
        let turns = turns.map(|(index, message)| message.turn(index));
        let stops = match &self.stop {
            None => Vec::new(),
            Some(Stop::One(stop)) => vec![stop.clone()],
            Some(Stop::Several(stops)) => stops.clone(),
        };
        Ok(Ask {
            model: self.model.clone(),
            turns: turns.collect::<Result<_, _>>()?,
            stop: ask::stops(stops)?,
            max_tokens: self.max_completion_tokens.or(self.max_tokens),
            temperature: self.temperature,
            seed: self.seed.map(ask::seed),
            form: self.form()?,
        })
    }

    fn refuse_tools(&self) -> Result<(), Problem> {
        let is_given =
            |tools: &Option<Vec<Value>>| tools.as_ref().is_some_and(|tools| !tools.is_empty());
        let has_choice = self
            .tool_choice
            .as_ref()
            .is_none_or(|choice| choice != "none");
        if is_given(&self.tools) && has_choice {
            let message =
                "a debate cannot call tools: leave `tools` out, or set `tool_choice` to \"none\"";
            return Err(unsupported("/tools", message));
        }
        if is_given(&self.functions) {
            return Err(unsupported(
                "/functions",
                "a debate cannot call functions: leave them out",
            ));
        }
        Ok(())
    }

    fn form(&self) -> Result<Form, Problem> {
        let Some(format) = &self.response_format else {
            return Ok(Form::Text);
        };
        let named = format.json_schema.as_ref();
        let schema = named.map(|named| (named.name.as_str(), named.schema.as_ref()));
        ask::form(&format.kind, "/response_format/json_schema", schema)
    }
}

impl ChatMessage {
    fn turn(&self, index: usize) -> Result<Turn, Problem> {
        let at = format!("/messages/{index}");
        let mut parts = Parts::default();
        match &self.content {
            None => {}
            Some(MessageContent::Text(text)) => parts.add_text(text),
            Some(MessageContent::Parts(all)) => {
                for (index, part) in all.iter().enumerate() {
                    part.add(&format!("{at}/content/{index}"), &mut parts)?;
                }
            }
        }
        parts.by(&self.role, &at)
    }
}

impl ContentPart {
    fn add(&self, at: &str, parts: &mut Parts) -> Result<(), Problem> {
        match (self.kind.as_str(), &self.text, &self.image_url) {
            ("text" | "refusal", text, _) => parts.add_text(text.as_deref().unwrap_or_default()),
            ("image_url", _, Some(image)) => {
                parts.add_image(&format!("{at}/image_url/url"), &image.url)?;
            }
            (kind, ..) => return Err(ask::unreadable(at, kind, "text, or an image_url")),
        }
        Ok(())
    }
}

pub(super) async fn complete(
    State(app): State<Arc<App>>,
    sender: Sender,
    sent: Sent<ChatRequest>,
) -> Result<Response, Problem> {
    let Sent { content, bytes } = sent;
    let ask = content.ask()?;
    let options = content.stream_options.as_ref();
    let wire = ChatWire {
        id: Uuid::new_v4(),
        created: clock::now() / 1000,
        model: catalog::full_id(&ask.model),
        reasoning_key: app.context.config.server.reasoning_key.clone(),
        has_usage: options
            .and_then(|options| options.include_usage)
            .unwrap_or(false),
        metadata: content.metadata,
    };
    let is_stream = content.stream.unwrap_or(false);
    respond(app, sender, (ask, bytes), is_stream, wire).await
}

/// The answer of a debate.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::server) struct ChatCompletion {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    choices: Vec<ChatChoice>,
    usage: ChatUsage,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    /// The result of the debate besides its answer. Left out if none took place.
    #[serde(skip_serializing_if = "Option::is_none")]
    roundtable: Option<answer::Extension>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChatChoice {
    index: u32,
    message: ChatAnswer,
    logprobs: Option<Value>,
    /// `stop`, or `length` if the answer was cut at `max_tokens`.
    finish_reason: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChatAnswer {
    role: &'static str,
    content: String,
    refusal: Option<String>,
}

/// The sum over all calls of the debate.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: CachedTokens,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct CachedTokens {
    cached_tokens: u64,
}

impl From<TokenUsage> for ChatUsage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.input + usage.output,
            prompt_tokens_details: CachedTokens {
                cached_tokens: usage.cached,
            },
        }
    }
}

struct ChatWire {
    id: Uuid,
    created: u64,
    model: String,
    reasoning_key: String,
    has_usage: bool,
    metadata: Option<Map<String, Value>>,
}

impl ChatWire {
    fn chat_id(&self) -> String {
        format!("chatcmpl-{}", self.id)
    }

    fn chunk(&self, choices: &Value) -> Value {
        let mut chunk = json!({
            "id": self.chat_id(),
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if self.has_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> Value {
        self.chunk(
            &json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]),
        )
    }
}

const DONE: &str = "data: [DONE]\n\n";

impl Wire for ChatWire {
    type Whole = ChatCompletion;

    fn begin(&mut self, debate: Uuid) {
        self.id = debate;
    }

    fn whole(self, answer: Answer) -> ChatCompletion {
        ChatCompletion {
            id: self.chat_id(),
            object: "chat.completion",
            created: self.created,
            model: self.model,
            choices: vec![ChatChoice {
                index: 0,
                message: ChatAnswer {
                    role: "assistant",
                    content: answer.content,
                    refusal: None,
                },
                logprobs: None,
                finish_reason: answer.finish,
            }],
            usage: answer.usage.into(),
            metadata: self.metadata,
            roundtable: answer.roundtable,
        }
    }

    fn start(&mut self) -> String {
        data(&self.delta(&json!({ "role": "assistant", "content": "" }), None))
    }

    fn reasoning(&mut self, text: &str) -> String {
        data(&self.delta(&json!({ self.reasoning_key.as_str(): text }), None))
    }

    fn idle(&mut self) -> String {
        data(&self.delta(&json!({}), None))
    }

    fn answer(&mut self, answer: Answer) -> String {
        let mut text = data(&self.delta(&json!({ "content": answer.content }), None));
        let mut last = self.delta(&json!({}), Some(answer.finish));
        if let Some(extension) = &answer.roundtable {
            last["roundtable"] = json!(extension);
        }
        text += &data(&last);
        if self.has_usage {
            let mut usage = self.chunk(&json!([]));
            usage["usage"] = json!(ChatUsage::from(answer.usage));
            text += &data(&usage);
        }
        text + DONE
    }

    fn failure(&mut self, problem: &Problem) -> String {
        data(&errors::body(problem)) + DONE
    }
}
