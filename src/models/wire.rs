//! Shared by the adapters: the [`WireFormat`] trait, the [`Progress`] of a reply, and the [`Adjustments`] that a server
//! needs.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::SystemTime;

use roundtable_core::usage::{Money, Usage};
use roundtable_engine::model::{
    Delta, Finish, Message, Offer, Request, Speaker, Tool, ToolCall, ToolPart, Tools,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::framing::Framing;
use crate::config::Quirk;

/// Builds requests and parses replies in one provider's format. Does no I/O.
pub(super) trait WireFormat: Send + Sync {
    fn framing(&self) -> Framing;

    fn call(&self, request: &Request, adjustments: Adjustments) -> Call;

    /// Parses one frame of a stream, or a whole reply that was not streamed.
    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), FrameError>;

    /// Words in a rejection that name an optional parameter, and the adjustment that removes it, in this order.
    fn adjustable(&self) -> &'static [(&'static str, Adjustment)];

    /// The adjustment from which on replies are no longer constrained to the schema.
    fn unconstrained(&self) -> Adjustment {
        Adjustment::SecondSchemaMode
    }

    fn list_path(&self) -> &'static str;

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>>;
}

/// An encoded request.
#[derive(Debug)]
pub(super) struct Call {
    pub path: Cow<'static, str>,
    pub body: Vec<u8>,
}

/// A model as its provider lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    pub id: String,
    pub created: Option<SystemTime>,
    /// The size of the weights, if the server reports it.
    pub bytes: Option<u64>,
    /// The [typical price](super::prices::typical_price) as reported by the server. Used to compare models, not for accounting.
    pub price: Option<Money>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameError {
    /// Invalid JSON, or JSON of another shape.
    Malformed,
    /// The frame reports a server error.
    ErrorReport,
}

/// A reply as far as it has been read.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub deltas: VecDeque<Delta>,
    pub usage: Option<Usage>,
    pub finish: Option<Finish>,
    /// The server sent its end marker.
    pub done: bool,
    thought: bool,
    spoke: bool,
    /// Tool calls as far as they have been read, with the provider's index.
    calls: Vec<(u64, ToolCall)>,
    /// Set if the request offers tools: the name under which the reply itself may be sent as a tool call.
    reply_tool_name: Option<String>,
}

/// Limits for misbehaving models.
const MAX_TOOL_CALLS: usize = 64;
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// A fragment of a tool call. A fragment without an index belongs to the previous call.
#[derive(Debug, Default)]
pub(super) struct CallPart {
    pub index: Option<u64>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: String,
    pub signature: Option<String>,
}

impl Progress {
    pub(super) fn of(request: &Request) -> Self {
        let schema = request.schema.as_ref();
        let name = schema.map_or_else(String::new, |schema| {
            sanitize_name(&schema.name).into_owned()
        });
        Self {
            reply_tool_name: request.tools.as_ref().map(|_| name),
            ..Self::default()
        }
    }

    /// Whether this name is a tool, not the reply sent as a tool call.
    pub(super) fn is_tool_call(&self, name: &str) -> bool {
        self.reply_tool_name
            .as_deref()
            .is_some_and(|reply| reply != name)
    }

    pub(super) fn add_call_part(&mut self, part: CallPart) {
        self.spoke = true;
        let id = part.id.unwrap_or_default();
        let is_other = |call: &ToolCall| !id.is_empty() && !call.id.is_empty() && call.id != id;
        let known = match part.index {
            Some(index) => self.calls.iter().rposition(|(at, _)| *at == index),
            None => self.calls.len().checked_sub(1),
        };
        // Some servers send the same index for all calls, or none; then only the ids differ.
        match known.filter(|at| !is_other(&self.calls[*at].1)) {
            Some(at) => {
                let call = &mut self.calls[at].1;
                if call.name.is_empty() {
                    call.name = part.name.unwrap_or_default();
                }
                if call.id.is_empty() {
                    call.id = id;
                }
                if call.arguments.len() + part.arguments.len() <= MAX_ARGUMENT_BYTES {
                    call.arguments.push_str(&part.arguments);
                }
                call.signature = call.signature.take().or(part.signature);
            }
            None if self.calls.len() < MAX_TOOL_CALLS => {
                let index = part.index.unwrap_or(self.calls.len() as u64);
                let call = ToolCall {
                    id,
                    name: part.name.unwrap_or_default(),
                    arguments: part.arguments,
                    signature: part.signature,
                };
                self.calls.push((index, call));
            }
            None => {}
        }
    }

    /// A complete call.
    pub(super) fn add_call(&mut self, part: CallPart) {
        let index = self.calls.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
        self.add_call_part(CallPart {
            index: Some(index),
            ..part
        });
    }

    pub(super) fn has_call(&self, index: u64) -> bool {
        self.calls.iter().any(|(at, _)| *at == index)
    }

    /// Emits all calls at the end of the reply, each with a unique id.
    pub(super) fn flush_calls(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        let mut given: Vec<String> = Vec::new();
        for (number, (_, mut call)) in (1..).zip(calls) {
            if call.id.is_empty() || given.contains(&call.id) {
                call.id = format!("call_{number}");
            }
            given.push(call.id.clone());
            self.deltas.push_back(Delta::Call(call));
        }
    }

    pub(super) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.spoke = true;
            // Merged with the previous delta: each delta costs a little in every layer above.
            if let Some(Delta::Text(before)) = self.deltas.back_mut() {
                before.push_str(&text);
            } else {
                self.deltas.push_back(Delta::Text(text));
            }
        }
    }

    pub(super) fn reasoning(&mut self, text: String) {
        self.mark_thinking();
        if !text.is_empty() {
            self.deltas.push_back(Delta::Reasoning(text));
        }
    }

    /// The model is thinking, visibly or not.
    pub(super) fn mark_thinking(&mut self) {
        self.thought = true;
    }

    pub(super) fn has_thought(&self) -> bool {
        self.thought
    }

    /// The reply hit the token limit before any text.
    pub(super) fn spent_limit_on_thinking(&self) -> bool {
        self.finish == Some(Finish::Length) && self.thought && !self.spoke
    }
}

/// A change to all further requests for a model, learnt from a rejection or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adjustment {
    OmitTemperature,
    OmitSeed,
    OmitStreamOptions,
    /// Send the token limit under its other parameter name.
    AlternativeLimitName,
    OmitLimit,
    /// Send the schema in the strict dialect of OpenAI.
    StrictSchema,
    /// Request the schema in the adapter's second way, then in its third.
    SecondSchemaMode,
    ThirdSchemaMode,
    /// The model thinks before it replies, so its token limit is raised.
    ThinkingHeadroom,
    OmitTools,
}

/// Added to the limit of a reply for thinking.
const THINKING_TOKENS: u32 = 8_192;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Adjustments(u16);

impl Adjustments {
    /// The adjustments that a provider needs from the start.
    pub(super) fn of(quirks: &[Quirk]) -> Self {
        let adjustment = |quirk: &Quirk| match quirk {
            Quirk::MaxCompletionTokens => Adjustment::AlternativeLimitName,
            Quirk::StrictSchema => Adjustment::StrictSchema,
            Quirk::JsonObject => Adjustment::SecondSchemaMode,
            Quirk::NoSeed => Adjustment::OmitSeed,
            Quirk::NoStreamOptions => Adjustment::OmitStreamOptions,
        };
        let adjustments = quirks.iter().map(adjustment);
        adjustments.fold(Self::default(), Self::with)
    }

    pub(super) fn has(self, adjustment: Adjustment) -> bool {
        self.0 & (1 << adjustment as u8) != 0
    }

    #[must_use]
    pub(super) fn with(self, adjustment: Adjustment) -> Self {
        Self(self.0 | 1 << adjustment as u8)
    }

    pub(super) fn temperature(self, request: &Request) -> Option<f64> {
        (!self.has(Adjustment::OmitTemperature)).then_some(request.temperature)
    }

    pub(super) fn seed(self, request: &Request) -> Option<u32> {
        (!self.has(Adjustment::OmitSeed)).then(|| narrow_seed(request.seed))
    }

    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The token limit to send for a reply of this length.
    pub(super) fn limit(self, max_output_tokens: u32) -> u32 {
        if self.has(Adjustment::ThinkingHeadroom) {
            max_output_tokens.saturating_add(THINKING_TOKENS)
        } else {
            max_output_tokens
        }
    }

    /// The system prompt, with the schema appended as text if `mode` is set.
    pub(super) fn system(self, mode: Adjustment, request: &Request) -> Cow<'_, str> {
        match &request.schema {
            Some(schema) if self.has(mode) => Cow::Owned(format!(
                "{}\n\nReply with one JSON object and nothing around it. It has to fit this JSON schema:\n{}",
                request.system, schema.json
            )),
            Some(_) | None => Cow::Borrowed(&request.system),
        }
    }

    /// The tools that the request declares.
    pub(super) fn tools(self, request: &Request) -> Option<&Tools> {
        let tools = request.tools.as_ref();
        tools.filter(|_| !self.has(Adjustment::OmitTools))
    }

    /// The tools that the model may call now.
    pub(super) fn callable_tools(self, request: &Request) -> Option<&[Tool]> {
        let open = self
            .tools(request)
            .filter(|tools| tools.offer == Offer::Open);
        open.map(|tools| tools.list.as_slice())
    }

    /// The adjustments after a rejection with this text, if it names an adjustable parameter.
    pub(super) fn after(self, text: &str, adjustable: &[(&str, Adjustment)]) -> Option<Self> {
        let text = text.to_lowercase();
        // If the limit is too large, its name is right.
        let too_large = text.contains("too large") || text.contains("at most");
        adjustable
            .iter()
            .filter(|(_, change)| !(too_large && *change == Adjustment::AlternativeLimitName))
            .find(|(word, change)| !self.has(*change) && mentions(&text, word))
            .map(|(_, change)| self.with(*change))
    }
}

/// Whether `text` contains `word` as a whole word.
fn mentions(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

/// A chat message in the format of OpenAI and Ollama.
#[derive(Debug, Serialize)]
pub(super) struct ChatMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

impl<'a> ChatMessage<'a> {
    fn new(role: &'static str, content: Cow<'a, str>) -> Self {
        Self {
            role,
            content,
            tool_calls: Vec::new(),
            tool_call_id: None,
            tool_name: None,
        }
    }
}

/// How tool calls and their results are linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolCallStyle {
    /// OpenAI: by id, with the arguments as text.
    ById,
    /// Ollama: by name, with the arguments as an object.
    ByName,
}

impl ToolCallStyle {
    fn call(self, call: &ToolCall) -> Value {
        match self {
            Self::ById => json!({
                "id": call.id, "type": "function",
                "function": { "name": call.name, "arguments": call.arguments },
            }),
            Self::ByName => json!({
                "function": { "name": call.name, "arguments": arguments(call) },
            }),
        }
    }

    fn result<'a>(self, id: &'a str, name: &'a str, text: &'a str) -> ChatMessage<'a> {
        let mut message = ChatMessage::new("tool", Cow::Borrowed(text));
        match self {
            Self::ById => message.tool_call_id = Some(id),
            Self::ByName => message.tool_name = Some(name),
        }
        message
    }
}

/// The arguments as an object; empty if the model did not write one.
pub(super) fn arguments(call: &ToolCall) -> Value {
    let arguments = serde_json::from_str(&call.arguments).ok();
    arguments
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}))
}

/// Tools in the format of OpenAI and Ollama.
pub(super) fn functions(tools: &[Tool]) -> Vec<Value> {
    let function = |tool: &Tool| {
        json!({
            "type": "function",
            "function": { "name": tool.name, "description": tool.description, "parameters": **tool.parameters },
        })
    };
    tools.iter().map(function).collect()
}

/// The system prompt and the messages. Consecutive messages of one speaker are merged.
pub(super) fn chat<'a>(
    system: Cow<'a, str>,
    messages: &'a [Message],
    style: ToolCallStyle,
) -> Vec<ChatMessage<'a>> {
    let mut chat: Vec<ChatMessage<'a>> = Vec::with_capacity(1 + messages.len());
    if !system.is_empty() {
        chat.push(ChatMessage::new("system", system));
    }
    for message in messages.iter().filter(|message| !message.is_empty()) {
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        let mut calls = Vec::new();
        for part in &message.tools {
            match part {
                ToolPart::Call(call) => calls.push(style.call(call)),
                ToolPart::Result { id, name, text } => chat.push(style.result(id, name, text)),
            }
        }
        if !calls.is_empty() {
            chat.push(ChatMessage {
                tool_calls: calls,
                ..ChatMessage::new(role, Cow::Borrowed(&message.text))
            });
            continue;
        }
        if message.text.is_empty() {
            continue;
        }
        match chat.last_mut() {
            Some(last) if last.role == role && last.tool_calls.is_empty() => {
                let content = last.content.to_mut();
                content.push_str("\n\n");
                content.push_str(&message.text);
            }
            Some(_) | None => chat.push(ChatMessage::new(role, Cow::Borrowed(&message.text))),
        }
    }
    chat
}

/// Providers reject schema and tool names with other characters or more than 64.
pub(super) fn sanitize_name(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        return Cow::Borrowed(name);
    }
    let name: String = name
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .take(64)
        .collect();
    if name.is_empty() {
        Cow::Borrowed("reply")
    } else {
        Cow::Owned(name)
    }
}

/// Seeds are signed or unsigned, with 32 or 64 bits, depending on the server; 31 bits fit everywhere.
pub(super) fn narrow_seed(seed: u64) -> u32 {
    let folded = (seed ^ (seed >> 32)) & 0x7fff_ffff;
    u32::try_from(folded).unwrap_or_default()
}

/// A list of models, under one of the names that providers use for it.
#[derive(Deserialize)]
struct List<T> {
    #[serde(alias = "models")]
    data: Vec<T>,
}

/// `None` if the body is not a list of models.
pub(super) fn read_list<T: DeserializeOwned>(
    body: &[u8],
    listed: impl Fn(T) -> Listed,
) -> Option<Vec<Listed>> {
    let list: List<T> = serde_json::from_slice(body).ok()?;
    Some(list.data.into_iter().map(listed).collect())
}

/// For bodies of structs, strings and numbers, whose serialization cannot fail.
pub(super) fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
