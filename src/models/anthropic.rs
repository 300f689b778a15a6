//! Anthropic's messages format.
//!
//! A schema is sent as `output_config.format`. If the model or a proxy rejects that, it is sent as the input schema of a
//! tool that the model is forced to call. (Models since Claude 5.5 reject forced tools, older ones support nothing else.)
//! Content that the calls of a round share is marked for the prompt cache (C-13).

use std::borrow::Cow;

use roundtable_engine::model::{Finish, Message, Offer, RawJson, Request, Speaker, ToolPart};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::framing::Framing;
use super::images;
use super::schema::ANTHROPIC;
use super::wire::{
    Adjustment, Adjustments, Call, CallPart, FrameError, Listed, Progress, WireFormat, arguments,
    json, read_list, sanitize_name,
};

/// Anthropic's limit of cache breakpoints.
const MAX_BREAKPOINTS: usize = 4;

pub(super) struct Anthropic;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    messages: Vec<ApiMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Value,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
    },
}

impl<'a> Block<'a> {
    fn tool(part: &'a ToolPart) -> Self {
        match part {
            ToolPart::Call(call) => Self::ToolUse {
                id: &call.id,
                name: &call.name,
                input: arguments(call),
            },
            ToolPart::Result { id, text, .. } => Self::ToolResult {
                tool_use_id: id,
                content: text,
            },
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
struct CacheControl {}

#[derive(Serialize)]
struct ApiMessage<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: &'a RawJson,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToolChoice<'a> {
    Tool {
        name: Cow<'a, str>,
    },
    /// One of them, of the model's choice.
    Any,
    None,
}

#[derive(Serialize)]
struct OutputConfig {
    format: Format,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct Format {
    schema: Value,
}

fn conversation<'a>(messages: &'a [Message], mut breakpoints: usize) -> Vec<ApiMessage<'a>> {
    let mut out: Vec<ApiMessage<'a>> = Vec::with_capacity(messages.len());
    // From the end, because the last breakpoints cover the longest prefixes.
    let mut marked: Vec<bool> = messages
        .iter()
        .rev()
        .map(|message| {
            let is_marked = message.shared && !message.text.is_empty() && breakpoints > 0;
            breakpoints -= usize::from(is_marked);
            is_marked
        })
        .collect();
    marked.reverse();
    for (message, is_marked) in messages.iter().zip(marked) {
        if message.is_empty() {
            continue;
        }
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        let text = (!message.text.is_empty()).then(|| Block::Text {
            text: Cow::Borrowed(&message.text),
            cache_control: is_marked.then_some(CacheControl {}),
        });
        let blocks = text
            .into_iter()
            .chain(message.tools.iter().map(Block::tool));
        match out.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            Some(_) | None => out.push(ApiMessage {
                role,
                content: blocks.collect(),
            }),
        }
    }
    out
}

impl WireFormat for Anthropic {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn call(&self, request: &Request, adjustments: Adjustments) -> Call {
        let as_tool = adjustments.has(Adjustment::SecondSchemaMode);
        let as_text = adjustments.has(Adjustment::ThirdSchemaMode);
        let system = adjustments.system(Adjustment::ThirdSchemaMode, request);
        let schema = request.schema.as_ref().filter(|_| !as_text);
        let tool = schema.filter(|_| as_tool);
        let system: Vec<Block<'_>> = (!system.is_empty())
            .then_some(Block::Text {
                text: system,
                cache_control: Some(CacheControl {}),
            })
            .into_iter()
            .collect();
        let offered = adjustments.tools(request);
        let request_tools = offered.iter().flat_map(|tools| &tools.list);
        let request_tools = request_tools.map(|tool| Tool {
            name: Cow::Borrowed(tool.name.as_str()),
            description: &tool.description,
            input_schema: &tool.parameters,
        });
        let tool_choice = match (tool, offered.map(|tools| tools.offer)) {
            // The model calls a tool, or sends the reply as a tool call.
            (Some(_), Some(Offer::Open)) => Some(ToolChoice::Any),
            (Some(schema), Some(Offer::Closed) | None) => Some(ToolChoice::Tool {
                name: sanitize_name(&schema.name),
            }),
            (None, Some(Offer::Closed)) => Some(ToolChoice::None),
            (None, Some(Offer::Open) | None) => None,
        };
        let body = Body {
            model: &request.model,
            max_tokens: adjustments.limit(request.max_output_tokens),
            stream: true,
            // Anthropic allows at most 1, other providers 2.
            temperature: adjustments.temperature(request).map(|most| most.min(1.0)),
            messages: conversation(&request.messages, MAX_BREAKPOINTS - system.len()),
            system,
            tools: tool
                .map(|schema| Tool {
                    name: sanitize_name(&schema.name),
                    description: "Hand in the reply.",
                    input_schema: &schema.json,
                })
                .into_iter()
                .chain(request_tools)
                .collect(),
            tool_choice,
            output_config: schema.filter(|_| !as_tool).map(|schema| OutputConfig {
                format: Format {
                    schema: ANTHROPIC.translate(&schema.json),
                },
            }),
        };
        Call {
            path: Cow::Borrowed("/messages"),
            body: images::add_to_anthropic(json(&body), &request.images),
        }
    }

    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), FrameError> {
        let event: Event = serde_json::from_slice(frame).map_err(|_| FrameError::Malformed)?;
        match event {
            Event::MessageStart { message } => update_usage(progress, message.usage),
            Event::ContentBlockStart {
                index,
                content_block,
            } => content_block.read(progress, index),
            Event::ContentBlockDelta { index, delta } => match delta {
                Part::Text { text } => progress.text(text),
                Part::Json { partial_json } => match index.filter(|at| progress.has_call(*at)) {
                    Some(index) => progress.add_call_part(CallPart {
                        index: Some(index),
                        arguments: partial_json,
                        ..CallPart::default()
                    }),
                    None => progress.text(partial_json),
                },
                Part::Thinking { thinking } => progress.reasoning(thinking),
                Part::Other => {}
            },
            Event::MessageDelta { delta, usage } => {
                update_usage(progress, usage);
                set_finish(progress, delta.stop_reason.as_deref());
            }
            Event::MessageStop => progress.done = true,
            Event::Message {
                content,
                stop_reason,
                usage,
            } => {
                update_usage(progress, usage);
                for (index, block) in (0..).zip(content) {
                    block.read(progress, Some(index));
                }
                set_finish(progress, stop_reason.as_deref());
            }
            Event::Error => return Err(FrameError::ErrorReport),
            Event::Other => {}
        }
        Ok(())
    }

    fn adjustable(&self) -> &'static [(&'static str, Adjustment)] {
        &[
            ("temperature", Adjustment::OmitTemperature),
            ("output_config", Adjustment::SecondSchemaMode),
            ("output_format", Adjustment::SecondSchemaMode),
            ("tool_choice", Adjustment::ThirdSchemaMode),
            ("tools", Adjustment::ThirdSchemaMode),
        ]
    }

    fn unconstrained(&self) -> Adjustment {
        Adjustment::ThirdSchemaMode
    }

    fn list_path(&self) -> &'static str {
        "/models?limit=1000"
    }

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>> {
        read_list(body, |entry: Entry| Listed {
            id: entry.id,
            created: entry
                .created_at
                .and_then(|text| humantime::parse_rfc3339_weak(&text).ok()),
            ..Listed::default()
        })
    }
}

/// Later counts replace earlier ones; missing counts keep their value.
fn update_usage(progress: &mut Progress, tokens: Option<Tokens>) {
    let Some(tokens) = tokens else { return };
    let usage = progress.usage.get_or_insert_default();
    if let Some(plain) = tokens.input_tokens {
        usage.cached = tokens.cache_read_input_tokens.unwrap_or(0);
        usage.input = plain + usage.cached + tokens.cache_creation_input_tokens.unwrap_or(0);
    }
    if let Some(output) = tokens.output_tokens {
        usage.output = output;
    }
}

fn set_finish(progress: &mut Progress, stop_reason: Option<&str>) {
    progress.finish = match stop_reason {
        None => progress.finish,
        Some("max_tokens" | "model_context_window_exceeded") => Some(Finish::Length),
        Some("refusal") => Some(Finish::Refused),
        Some(_) => Some(Finish::Stop),
    };
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: Option<u64>,
        content_block: Content,
    },
    ContentBlockDelta {
        index: Option<u64>,
        delta: Part,
    },
    MessageDelta {
        delta: Stop,
        usage: Option<Tokens>,
    },
    MessageStop,
    /// A whole reply, from a server that does not stream.
    Message {
        content: Vec<Content>,
        stop_reason: Option<String>,
        usage: Option<Tokens>,
    },
    Error,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Stop {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    Text {
        text: String,
    },
    /// In a stream the input is empty here and follows in deltas.
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        input: Value,
    },
    Thinking {
        thinking: Option<String>,
    },
    RedactedThinking,
    #[serde(other)]
    Other,
}

impl Content {
    fn read(self, progress: &mut Progress, index: Option<u64>) {
        match self {
            Self::Text { text } => progress.text(text),
            Self::ToolUse { id, name, input } => {
                let has_input = input.as_object().is_some_and(|fields| !fields.is_empty());
                let input = if has_input {
                    input.to_string()
                } else {
                    String::new()
                };
                if progress.is_tool_call(&name) {
                    progress.add_call_part(CallPart {
                        index,
                        id: Some(id),
                        name: Some(name),
                        arguments: input,
                        signature: None,
                    });
                } else {
                    progress.text(input);
                }
            }
            Self::Thinking { thinking } => progress.reasoning(thinking.unwrap_or_default()),
            Self::RedactedThinking => progress.mark_thinking(),
            Self::Other => {}
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Part {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    Json { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "these are the provider's names")]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    created_at: Option<String>,
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
