//! Ollama's native chat format: unlike its OpenAI-compatible one, it takes both a schema and the context length.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use roundtable_core::usage::Usage;
use roundtable_engine::model::{Finish, RawJson, Request};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::MAX_REMEMBERED;
use super::framing::Framing;
use super::images;
use super::wire::{
    Adjustment, Adjustments, Call, CallPart, ChatMessage, FrameError, Listed, Progress,
    ToolCallStyle, WireFormat, chat, functions, json, narrow_seed, read_list,
};

const MIN_CONTEXT: u32 = 4096;
const CONTEXT_STEP: u32 = 1024;

#[derive(Default)]
pub(super) struct Ollama {
    /// The longest context requested per model. It only grows, because every change makes the server reload the model.
    contexts: Mutex<HashMap<String, u32>>,
}

impl Ollama {
    fn context(&self, request: &Request, limit: u32) -> u32 {
        let needed = estimated_tokens(request).saturating_add(limit);
        let needed = needed
            .div_ceil(CONTEXT_STEP)
            .saturating_mul(CONTEXT_STEP)
            .max(MIN_CONTEXT);
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = contexts.get_mut(&request.model) {
            *context = needed.max(*context);
            return *context;
        }
        if contexts.len() >= MAX_REMEMBERED {
            contexts.clear();
        }
        contexts.insert(request.model.clone(), needed);
        needed
    }
}

/// An upper estimate, because Ollama silently truncates a prompt that exceeds the context: three ASCII characters per
/// token (English has about four), one token for any other character, and 16 per message.
fn estimated_tokens(request: &Request) -> u32 {
    let tokens: usize = request
        .texts()
        .map(|text| {
            let ascii = text.bytes().filter(u8::is_ascii).count();
            let others = text.chars().count() - ascii;
            ascii.div_ceil(3) + others + 16
        })
        .sum();
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a RawJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    options: Options,
}

#[derive(Serialize)]
struct Options {
    num_ctx: u32,
    num_predict: u32,
    temperature: f64,
    seed: u32,
}

impl WireFormat for Ollama {
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn call(&self, request: &Request, adjustments: Adjustments) -> Call {
        // A model constrained to a schema cannot call tools, so the schema is sent as text while tools may be called.
        let tools = adjustments.callable_tools(request).map(functions);
        let adjustments = match tools {
            Some(_) => adjustments.with(Adjustment::SecondSchemaMode),
            None => adjustments,
        };
        let as_text = adjustments.has(Adjustment::SecondSchemaMode);
        let system = adjustments.system(Adjustment::SecondSchemaMode, request);
        let limit = adjustments.limit(request.max_output_tokens);
        let body = Body {
            model: &request.model,
            messages: chat(system, &request.messages, ToolCallStyle::ByName),
            stream: true,
            format: request
                .schema
                .as_ref()
                .filter(|_| !as_text)
                .map(|schema| schema.json.as_ref()),
            tools: tools.unwrap_or_default(),
            options: Options {
                num_ctx: self.context(request, limit),
                num_predict: limit,
                temperature: request.temperature,
                seed: narrow_seed(request.seed),
            },
        };
        Call {
            path: Cow::Borrowed("/api/chat"),
            body: images::add_to_ollama(json(&body), &request.images),
        }
    }

    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), FrameError> {
        let line: Line = serde_json::from_slice(frame).map_err(|_| FrameError::Malformed)?;
        if line.error.is_some() {
            return Err(FrameError::ErrorReport);
        }
        if let Some(message) = line.message {
            if let Some(thought) = message.thinking.filter(|thought| !thought.is_empty()) {
                progress.reasoning(thought);
            }
            if let Some(text) = message.content {
                progress.text(text);
            }
            for call in message.tool_calls.unwrap_or_default() {
                progress.add_call(CallPart {
                    name: Some(call.function.name),
                    arguments: call.function.arguments.to_string(),
                    ..CallPart::default()
                });
            }
        }
        if line.done == Some(true) {
            progress.done = true;
            progress.finish = Some(match line.done_reason.as_deref() {
                Some("length") => Finish::Length,
                Some(_) | None => Finish::Stop,
            });
            progress.usage = Some(Usage {
                input: line.prompt_eval_count.unwrap_or(0),
                output: line.eval_count.unwrap_or(0),
                cached: 0,
            });
        }
        Ok(())
    }

    fn adjustable(&self) -> &'static [(&'static str, Adjustment)] {
        &[
            ("format", Adjustment::SecondSchemaMode),
            ("grammar", Adjustment::SecondSchemaMode),
            ("schema", Adjustment::SecondSchemaMode),
            ("tools", Adjustment::OmitTools),
        ]
    }

    fn list_path(&self) -> &'static str {
        "/api/tags"
    }

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>> {
        read_list(body, |entry: Entry| Listed {
            id: entry.name,
            bytes: entry.size,
            ..Listed::default()
        })
    }
}

#[derive(Deserialize)]
struct Line {
    message: Option<ReplyMessage>,
    done: Option<bool>,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ReplyMessage {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<ReplyToolCall>>,
}

#[derive(Deserialize)]
struct ReplyToolCall {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    size: Option<u64>,
}

#[cfg(test)]
#[path = "ollama_tests.rs"]
mod tests;
