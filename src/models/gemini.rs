//! The `generateContent` format of Google's Gemini.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use roundtable_core::usage::Usage;
use roundtable_engine::model::{Finish, Message, Request, Speaker, Tool, ToolPart};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value};

use super::framing::Framing;
use super::images;
use super::schema::GEMINI;
use super::wire::{
    Adjustment, Adjustments, Call, CallPart, FrameError, Listed, Progress, WireFormat, arguments,
    json,
};

pub(super) struct Gemini;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<RequestPart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum RequestPart<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Call {
        function_call: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    Result {
        function_response: Value,
    },
}

impl<'a> RequestPart<'a> {
    fn tool(part: &'a ToolPart) -> Self {
        match part {
            ToolPart::Call(call) => Self::Call {
                function_call: value!({ "name": call.name, "args": arguments(call) }),
                thought_signature: call.signature.as_deref(),
            },
            ToolPart::Result { name, text, .. } => Self::Result {
                function_response: value!({ "name": name, "response": { "result": text } }),
            },
        }
    }
}

/// Tool declarations. Their schemas do not support `additionalProperties`.
fn declarations(tools: &[Tool]) -> Value {
    let declaration = |tool: &Tool| {
        let mut parameters = Value::clone(&tool.parameters);
        if let Some(fields) = parameters.as_object_mut() {
            fields.remove("additionalProperties");
        }
        value!({ "name": tool.name, "description": tool.description, "parameters": parameters })
    };
    let list: Vec<Value> = tools.iter().map(declaration).collect();
    value!({ "functionDeclarations": list })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Value>,
}

fn conversation(messages: &[Message]) -> Vec<Content<'_>> {
    let mut contents: Vec<Content<'_>> = Vec::with_capacity(messages.len());
    for message in messages.iter().filter(|message| !message.is_empty()) {
        let role = Some(match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "model",
        });
        let text = (!message.text.is_empty()).then(|| RequestPart::Text {
            text: Cow::Borrowed(&message.text),
        });
        let parts = text
            .into_iter()
            .chain(message.tools.iter().map(RequestPart::tool));
        match contents.last_mut() {
            Some(content) if content.role == role => content.parts.extend(parts),
            Some(_) | None => contents.push(Content {
                role,
                parts: parts.collect(),
            }),
        }
    }
    contents
}

/// The model name as a URL path. It is one segment: no name leaves the folder of the models.
fn model_path(model: &str) -> String {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    let (folder, model) = match model.split_once('/') {
        Some((folder @ ("models" | "tunedModels"), model)) => (folder, model),
        _ => ("models", model),
    };
    format!("{folder}/{}", utf8_percent_encode(model, RESERVED))
}

impl WireFormat for Gemini {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn call(&self, request: &Request, adjustments: Adjustments) -> Call {
        // Most models reject tools together with a schema, so the schema is sent as text while tools may be called.
        let tools = adjustments.callable_tools(request).map(declarations);
        let adjustments = match tools {
            Some(_) => adjustments
                .with(Adjustment::SecondSchemaMode)
                .with(Adjustment::ThirdSchemaMode),
            None => adjustments,
        };
        let as_text = adjustments.has(Adjustment::SecondSchemaMode);
        let system = adjustments.system(Adjustment::SecondSchemaMode, request);
        let schema = request.schema.as_ref();
        let body = Body {
            system_instruction: (!system.is_empty()).then(|| Content {
                role: None,
                parts: vec![RequestPart::Text { text: system }],
            }),
            contents: conversation(&request.messages),
            tools: tools.into_iter().collect(),
            generation_config: GenerationConfig {
                temperature: adjustments.temperature(request),
                max_output_tokens: adjustments.limit(request.max_output_tokens),
                seed: adjustments.seed(request),
                response_mime_type: schema
                    .filter(|_| !adjustments.has(Adjustment::ThirdSchemaMode))
                    .map(|_| "application/json"),
                response_json_schema: schema
                    .filter(|_| !as_text)
                    .map(|schema| GEMINI.translate(&schema.json)),
            },
        };
        Call {
            path: Cow::Owned(format!(
                "/{}:streamGenerateContent?alt=sse",
                model_path(&request.model)
            )),
            body: images::add_to_gemini(json(&body), &request.images),
        }
    }

    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), FrameError> {
        // A server that does not stream sends all chunks as one array.
        let chunks: Vec<Chunk> = if frame.trim_ascii_start().starts_with(b"[") {
            serde_json::from_slice(frame)
        } else {
            serde_json::from_slice(frame).map(|chunk| vec![chunk])
        }
        .map_err(|_| FrameError::Malformed)?;
        for chunk in chunks {
            read_chunk(chunk, progress)?;
        }
        Ok(())
    }

    fn adjustable(&self) -> &'static [(&'static str, Adjustment)] {
        &[
            ("temperature", Adjustment::OmitTemperature),
            ("seed", Adjustment::OmitSeed),
            ("response_json_schema", Adjustment::SecondSchemaMode),
            ("responsejsonschema", Adjustment::SecondSchemaMode),
            ("response_schema", Adjustment::SecondSchemaMode),
            ("response_mime_type", Adjustment::SecondSchemaMode),
            ("response_mime_type", Adjustment::ThirdSchemaMode),
            ("function calling", Adjustment::OmitTools),
            ("tools", Adjustment::OmitTools),
        ]
    }

    fn list_path(&self) -> &'static str {
        "/models?pageSize=1000"
    }

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>> {
        let list: List = serde_json::from_slice(body).ok()?;
        let can_chat = |entry: &Entry| {
            entry
                .supported_generation_methods
                .as_ref()
                .is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
        };
        let listed = |entry: Entry| Listed {
            id: entry
                .name
                .strip_prefix("models/")
                .unwrap_or(&entry.name)
                .to_owned(),
            ..Listed::default()
        };
        Some(
            list.models
                .into_iter()
                .filter(can_chat)
                .map(listed)
                .collect(),
        )
    }
}

fn read_chunk(chunk: Chunk, progress: &mut Progress) -> Result<(), FrameError> {
    if chunk.error.is_some() {
        return Err(FrameError::ErrorReport);
    }
    if let Some(tokens) = chunk.usage_metadata {
        let thoughts = tokens.thoughts_token_count.unwrap_or(0);
        if thoughts > 0 {
            progress.mark_thinking();
        }
        progress.usage = Some(Usage {
            input: tokens.prompt_token_count.unwrap_or(0),
            output: tokens.candidates_token_count.unwrap_or(0) + thoughts,
            cached: tokens.cached_content_token_count.unwrap_or(0),
        });
    }
    if chunk
        .prompt_feedback
        .is_some_and(|feedback| feedback.block_reason.is_some())
    {
        progress.finish = Some(Finish::Refused);
    }
    for candidate in chunk.candidates.unwrap_or_default() {
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.unwrap_or_default() {
            if let Some(call) = part.function_call {
                progress.add_call(CallPart {
                    name: Some(call.name),
                    arguments: call.args.to_string(),
                    signature: part.thought_signature,
                    ..CallPart::default()
                });
            }
            match part.text {
                Some(text) if part.thought == Some(true) => progress.reasoning(text),
                Some(text) => progress.text(text),
                None => {}
            }
        }
        match candidate.finish_reason.as_deref() {
            None => {}
            Some("MAX_TOKENS") => progress.finish = Some(Finish::Length),
            Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII") => {
                progress.finish = Some(Finish::Refused);
            }
            Some(_) => progress.finish = Some(Finish::Stop),
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Tokens>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<ReplyContent>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ReplyContent {
    parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    thought: Option<bool>,
    function_call: Option<FunctionCall>,
    thought_signature: Option<String>,
}

#[derive(Deserialize)]
struct FunctionCall {
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "these are the provider's names")]
struct Tokens {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    models: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: String,
    supported_generation_methods: Option<Vec<String>>,
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
