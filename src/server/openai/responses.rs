//! `/v1/responses`

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use roundtable_engine::protocols;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::problem::Problem;
use super::super::requests::Sent;
use super::super::rest;
use super::super::{App, off_runtime};
use super::answer::{self, Answer, TokenUsage};
use super::ask::{self, Ask, Form, Parts, Role, Turn, invalid, unsupported};
use super::catalog;
use super::respond::{Sender, respond};
use super::stream::Wire;
use crate::clock;

/// A request of OpenAI's Responses API. Fields that are not listed here have no effect.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ResponsesRequest {
    /// A model of `/v1/models`.
    model: String,
    /// The question, or a conversation whose last user message is the question.
    input: Input,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    /// The maximum length of the answer; it does not limit the debate.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    max_output_tokens: Option<u64>,
    /// Checked, but without effect on a debate: the cast sets the temperature of each seat. `roundtable.ignored` says so.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    /// The form of the answer.
    #[serde(default)]
    text: Option<TextOptions>,
    #[serde(default)]
    user: Option<String>,
    /// Sent back with the answer.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// A debate calls no tools of the client. They are accepted as long as the model may do without.
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    /// Its question and answer become the context.
    #[serde(default)]
    previous_response_id: Option<String>,
    /// Refused: start a debate with `POST /api/v1/debates` instead.
    #[serde(default)]
    background: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ResponsesInput")]
enum Input {
    Text(String),
    Items(Vec<InputItem>),
}

/// A message, or another item of the conversation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct InputItem {
    /// `message` if left out.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    content: Option<ItemContent>,
    /// Of a function's call and its result.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
    #[serde(default)]
    output: Option<Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ItemContent {
    Text(String),
    Parts(Vec<ItemPart>),
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct ItemPart {
    /// `input_text`, `output_text` or `input_image`.
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    image_url: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct TextOptions {
    #[serde(default)]
    format: Option<TextFormat>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct TextFormat {
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["text", "json_object", "json_schema"]))]
    kind: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    schema: Option<Value>,
}

impl ResponsesRequest {
    fn ask(&self, mut turns: Vec<Turn>) -> Result<Ask, Problem> {
        if self.background == Some(true) {
            let message = "a response cannot run in the background: use POST /api/v1/debates";
            return Err(unsupported("/background", message));
        }
        let must_call = |choice: &&Value| !matches!(choice.as_str(), Some("auto" | "none"));
        if self
            .tool_choice
            .as_ref()
            .filter(must_call)
            .is_some_and(|choice| !choice.is_null())
        {
            let message = "a debate cannot call tools: set `tool_choice` to \"auto\" or \"none\"";
            return Err(unsupported("/tool_choice", message));
        }
        if let Some(metadata) = &self.metadata {
            ask::check_metadata(metadata)?;
        }
        if let Some(text) = &self.instructions {
            turns.insert(0, plain(Role::System, text.clone()));
        }
        match &self.input {
            Input::Text(text) => turns.push(plain(Role::User, text.clone())),
            Input::Items(items) => {
                for (index, item) in items.iter().enumerate() {
                    turns.extend(item.turn(&format!("/input/{index}"))?);
                }
            }
        }
        Ok(Ask {
            model: self.model.clone(),
            turns,
            stop: Vec::new(),
            max_tokens: self.max_output_tokens,
            temperature: self.temperature,
            seed: None,
            form: self.form()?,
        })
    }

    fn form(&self) -> Result<Form, Problem> {
        let format = self.text.as_ref().and_then(|text| text.format.as_ref());
        let Some(format) = format else {
            return Ok(Form::Text);
        };
        let name = format.name.as_deref().unwrap_or("answer");
        let schema = format.schema.as_ref().unwrap_or(&Value::Null);
        ask::form(&format.kind, "/text/format", Some((name, Some(schema))))
    }

    fn text_format(&self) -> Value {
        let format = self.text.as_ref().and_then(|text| text.format.as_ref());
        json!({ "format": format.map_or_else(|| json!({ "type": "text" }), |format| json!(format)) })
    }
}

fn plain(role: Role, text: String) -> Turn {
    Turn {
        role,
        text,
        images: Vec::new(),
    }
}

impl InputItem {
    /// `None` for an item that says nothing to the seats, such as earlier reasoning.
    fn turn(&self, at: &str) -> Result<Option<Turn>, Problem> {
        match self.kind.as_deref().unwrap_or("message") {
            "message" => self.message(at).map(Some),
            "function_call" | "custom_tool_call" => {
                let (name, arguments) = (self.name.as_deref(), self.arguments.as_deref());
                let text = format!(
                    "calls {}({})",
                    name.unwrap_or("?"),
                    arguments.unwrap_or_default()
                );
                Ok(Some(plain(Role::Assistant, text)))
            }
            "function_call_output" | "custom_tool_call_output" => {
                let text = match &self.output {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                Ok(Some(plain(Role::Tool, text)))
            }
            _ => Ok(None),
        }
    }

    fn message(&self, at: &str) -> Result<Turn, Problem> {
        let mut parts = Parts::default();
        match &self.content {
            None => {}
            Some(ItemContent::Text(text)) => parts.add_text(text),
            Some(ItemContent::Parts(all)) => {
                for (index, part) in all.iter().enumerate() {
                    let at = format!("{at}/content/{index}");
                    match (part.kind.as_str(), &part.text, &part.image_url) {
                        ("input_text" | "output_text" | "text" | "refusal", text, _) => {
                            parts.add_text(text.as_deref().unwrap_or_default());
                        }
                        ("input_image", _, Some(url)) => {
                            parts.add_image(&format!("{at}/image_url"), url)?;
                        }
                        (kind, ..) => {
                            let readable = "input_text, or an input_image";
                            return Err(ask::unreadable(&at, kind, readable));
                        }
                    }
                }
            }
        }
        parts.by(self.role.as_deref().unwrap_or_default(), at)
    }
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    sender: Sender,
    sent: Sent<ResponsesRequest>,
) -> Result<Response, Problem> {
    let Sent { content, bytes } = sent;
    let earlier = match &content.previous_response_id {
        Some(id) => earlier(&app, &sender, id).await?,
        None => Vec::new(),
    };
    let ask = content.ask(earlier)?;
    let wire = ResponsesWire {
        sequence: 0,
        reasoning: String::new(),
        response: ResponseObject {
            id: response_id(Uuid::new_v4()),
            object: "response",
            created_at: clock::now() / 1000,
            status: "in_progress",
            error: None,
            incomplete_details: None,
            model: catalog::full_id(&ask.model),
            output: Vec::new(),
            instructions: content.instructions.clone(),
            max_output_tokens: content.max_output_tokens,
            metadata: content.metadata.clone().unwrap_or_default(),
            parallel_tool_calls: false,
            previous_response_id: content.previous_response_id.clone(),
            reasoning: json!({ "effort": null, "summary": null }),
            store: true,
            // No call of the debate had it.
            temperature: None,
            text: content.text_format(),
            tool_choice: content.tool_choice.clone().unwrap_or_else(|| "auto".into()),
            tools: content.tools.clone().unwrap_or_default(),
            top_p: None,
            truncation: "disabled",
            usage: None,
            user: content.user.clone(),
            roundtable: None,
        },
    };
    let is_stream = content.stream.unwrap_or(false);
    respond(app, sender, (ask, bytes), is_stream, wire).await
}

const ID_PREFIX: &str = "resp_";

fn response_id(debate: Uuid) -> String {
    format!("{ID_PREFIX}{}", debate.simple())
}

/// Question and answer of an earlier response, if the caller sees its debate.
async fn earlier(app: &App, sender: &Sender, id: &str) -> Result<Vec<Turn>, Problem> {
    let debate = id.strip_prefix(ID_PREFIX).unwrap_or(id);
    let row = rest::find(app, &sender.caller, debate).await.map_err(|_| {
        let id: String = id.chars().take(80).collect();
        invalid(
            "/previous_response_id",
            format!("there is no response '{id}'"),
        )
        .renamed(StatusCode::NOT_FOUND, "previous-response-not-found")
    })?;
    let entries = app.store.entries(row.id).await?;
    let answer = off_runtime(move || protocols::report(&entries).answer).await?;
    Ok([
        Some(plain(Role::User, row.question)),
        answer.map(|answer| plain(Role::Assistant, answer)),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// The answer of a debate.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(in crate::server) struct ResponseObject {
    id: String,
    object: &'static str,
    created_at: u64,
    /// `completed`, or `incomplete` if the answer was cut at `max_output_tokens`.
    status: &'static str,
    error: Option<Value>,
    incomplete_details: Option<Value>,
    model: String,
    output: Vec<Value>,
    instructions: Option<String>,
    max_output_tokens: Option<u64>,
    metadata: Map<String, Value>,
    parallel_tool_calls: bool,
    previous_response_id: Option<String>,
    reasoning: Value,
    store: bool,
    temperature: Option<f64>,
    text: Value,
    tool_choice: Value,
    tools: Vec<Value>,
    top_p: Option<f64>,
    truncation: &'static str,
    usage: Option<ResponseUsage>,
    user: Option<String>,
    /// The result of the debate besides its answer. Left out if none took place.
    #[serde(skip_serializing_if = "Option::is_none")]
    roundtable: Option<answer::Extension>,
}

/// The sum over all calls of the debate.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct ResponseUsage {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct InputDetails {
    cached_tokens: u64,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
struct OutputDetails {
    reasoning_tokens: u64,
}

impl From<TokenUsage> for ResponseUsage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.input,
            input_tokens_details: InputDetails {
                cached_tokens: usage.cached,
            },
            output_tokens: usage.output,
            output_tokens_details: OutputDetails {
                reasoning_tokens: 0,
            },
            total_tokens: usage.input + usage.output,
        }
    }
}

struct ResponsesWire {
    sequence: u64,
    /// All text that was streamed from the debate.
    reasoning: String,
    response: ResponseObject,
}

impl ResponsesWire {
    /// One event of the stream.
    fn event(&mut self, kind: &str, mut data: Value) -> String {
        data["type"] = kind.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        format!("event: {kind}\ndata: {data}\n\n")
    }

    fn item_id(&self, kind: &str) -> String {
        self.response.id.replacen(ID_PREFIX, kind, 1)
    }

    fn summary_part(text: &str) -> Value {
        json!({ "type": "summary_text", "text": text })
    }

    fn reasoning_item(&self) -> Value {
        let summary = if self.reasoning.is_empty() {
            json!([])
        } else {
            json!([Self::summary_part(&self.reasoning)])
        };
        json!({ "id": self.item_id("rs_"), "type": "reasoning", "summary": summary })
    }

    fn message_item(&self, status: &str, content: &Value) -> Value {
        json!({ "id": self.item_id("msg_"), "type": "message", "status": status, "role": "assistant", "content": content })
    }

    /// Begins the reasoning with its first words.
    fn open_reasoning(&mut self) -> String {
        let (id, item) = (self.item_id("rs_"), self.reasoning_item());
        self.event("response.output_item.added", json!({ "output_index": 0, "item": item }))
            + &self.event(
                "response.reasoning_summary_part.added",
                json!({ "item_id": id, "output_index": 0, "summary_index": 0, "part": Self::summary_part("") }),
            )
    }

    fn close_reasoning(&mut self) -> String {
        let (id, item, text) = (
            self.item_id("rs_"),
            self.reasoning_item(),
            self.reasoning.clone(),
        );
        let at = json!({ "item_id": id, "output_index": 0, "summary_index": 0 });
        let with = |key: &str, value: Value| {
            let mut data = at.clone();
            data[key] = value;
            data
        };
        let done = with("text", json!(text));
        let part = with("part", Self::summary_part(&text));
        self.event("response.reasoning_summary_text.done", done)
            + &self.event("response.reasoning_summary_part.done", part)
            + &self.event(
                "response.output_item.done",
                json!({ "output_index": 0, "item": item }),
            )
    }

    fn message(&mut self, content: &str) -> String {
        let index = usize::from(!self.reasoning.is_empty());
        let id = self.item_id("msg_");
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
        let at = json!({ "item_id": id, "output_index": index, "content_index": 0 });
        let with = |fields: Value| {
            let mut data = at.clone();
            for (key, value) in fields.as_object().into_iter().flatten() {
                data[key] = value.clone();
            }
            data
        };
        let begun = self.message_item("in_progress", &json!([]));
        let done = self.message_item("completed", &json!([part(content)]));
        let events = [
            (
                "response.output_item.added",
                json!({ "output_index": index, "item": begun }),
            ),
            (
                "response.content_part.added",
                with(json!({ "part": part("") })),
            ),
            (
                "response.output_text.delta",
                with(json!({ "delta": content, "logprobs": [] })),
            ),
            (
                "response.output_text.done",
                with(json!({ "text": content, "logprobs": [] })),
            ),
            (
                "response.content_part.done",
                with(json!({ "part": part(content) })),
            ),
            (
                "response.output_item.done",
                json!({ "output_index": index, "item": done }),
            ),
        ];
        events
            .into_iter()
            .map(|(kind, data)| self.event(kind, data))
            .collect()
    }

    /// The finished response.
    fn complete(&mut self, answer: Answer) {
        let text = json!([{ "type": "output_text", "text": answer.content, "annotations": [], "logprobs": [] }]);
        if !self.reasoning.is_empty() {
            self.response.output.push(self.reasoning_item());
        }
        let item = self.message_item("completed", &text);
        let response = &mut self.response;
        response.output.push(item);
        response.usage = Some(answer.usage.into());
        response.roundtable = answer.roundtable;
        response.status = "completed";
        if answer.finish == "length" {
            response.status = "incomplete";
            response.incomplete_details = Some(json!({ "reason": "max_output_tokens" }));
        }
    }
}

impl Wire for ResponsesWire {
    type Whole = ResponseObject;

    fn begin(&mut self, debate: Uuid) {
        self.response.id = response_id(debate);
    }

    fn whole(mut self, answer: Answer) -> ResponseObject {
        self.complete(answer);
        self.response
    }

    fn start(&mut self) -> String {
        let response = json!({ "response": self.response });
        self.event("response.created", response.clone())
            + &self.event("response.in_progress", response)
    }

    fn reasoning(&mut self, text: &str) -> String {
        let opened = if self.reasoning.is_empty() {
            self.open_reasoning()
        } else {
            String::new()
        };
        self.reasoning.push_str(text);
        let id = self.item_id("rs_");
        let delta = json!({ "item_id": id, "output_index": 0, "summary_index": 0, "delta": text });
        opened + &self.event("response.reasoning_summary_text.delta", delta)
    }

    fn idle(&mut self) -> String {
        if self.reasoning.is_empty() {
            let response = json!({ "response": self.response });
            return self.event("response.in_progress", response);
        }
        self.reasoning("")
    }

    fn answer(&mut self, answer: Answer) -> String {
        let mut text = String::new();
        if !self.reasoning.is_empty() {
            text += &self.close_reasoning();
        }
        text += &self.message(&answer.content);
        self.complete(answer);
        let response = json!({ "response": self.response });
        let kind = format!("response.{}", self.response.status);
        text + &self.event(&kind, response)
    }

    fn failure(&mut self, problem: &Problem) -> String {
        self.response.status = "failed";
        let message = problem.messages().join("; ");
        self.response.error = Some(json!({ "code": "server_error", "message": message }));
        let response = json!({ "response": self.response });
        self.event("response.failed", response)
    }
}
