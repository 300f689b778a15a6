//! The `generateContent` format of Google's Gemini.

use std::borrow::Cow;
use std::fmt::Write;

use roundtable_core::usage::Usage;
use roundtable_engine::model::{Finish, Message, Request, Speaker, Tool, ToolPart};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value};

use super::frames::Framing;
use super::pictures;
use super::schema::GEMINI;
use super::wire::{
    Call, CallPart, Concession, Concessions, Listed, Progress, Unread, Wire, arguments, json,
    narrow_seed,
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
    parts: Vec<RawJson<'a>>,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum RawJson<'a> {
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

impl<'a> RawJson<'a> {
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

/// Tools in this format, whose schemas know no closed objects.
fn declared(tools: &[Tool]) -> Value {
    let declaration = |tool: &Tool| {
        let mut parameters = Value::clone(&tool.parameters);
        if let Some(fields) = parameters.as_object_mut() {
            fields.remove("additionalProperties");
        }
        value!({ "name": tool.name, "description": tool.description, "parameters": parameters })
    };
    let declarations: Vec<Value> = tools.iter().map(declaration).collect();
    value!({ "functionDeclarations": declarations })
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
        let text = (!message.text.is_empty()).then(|| RawJson::Text {
            text: Cow::Borrowed(&message.text),
        });
        let parts = text
            .into_iter()
            .chain(message.tools.iter().map(RawJson::tool));
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

/// The name of a model as a part of an address.
fn in_path(model: &str) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let mut path = String::with_capacity(model.len());
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    if path.starts_with("tunedModels/") {
        path
    } else {
        format!("models/{path}")
    }
}

impl Wire for Gemini {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn call(&self, request: &Request, conceded: Concessions) -> Call {
        // Most of these models refuse tools beside a schema: as long as tools may be called it is put into words.
        let tools = conceded.open_tools(request).map(declared);
        let conceded = match tools {
            Some(_) => conceded
                .with(Concession::SecondStructure)
                .with(Concession::ThirdStructure),
            None => conceded,
        };
        let in_words = conceded.has(Concession::SecondStructure);
        let system = conceded.system(Concession::SecondStructure, request);
        let schema = request.schema.as_ref();
        let body = Body {
            system_instruction: (!system.is_empty()).then(|| Content {
                role: None,
                parts: vec![RawJson::Text { text: system }],
            }),
            contents: conversation(&request.messages),
            tools: tools.into_iter().collect(),
            generation_config: GenerationConfig {
                temperature: (!conceded.has(Concession::Temperature))
                    .then_some(request.temperature),
                max_output_tokens: conceded.limit(request.max_output_tokens),
                seed: (!conceded.has(Concession::Seed)).then(|| narrow_seed(request.seed)),
                response_mime_type: schema
                    .filter(|_| !conceded.has(Concession::ThirdStructure))
                    .map(|_| "application/json"),
                response_json_schema: schema
                    .filter(|_| !in_words)
                    .map(|schema| GEMINI.translate(&schema.json)),
            },
        };
        Call {
            path: Cow::Owned(format!(
                "/{}:streamGenerateContent?alt=sse",
                in_path(&request.model)
            )),
            body: pictures::in_parts(json(&body), &request.images),
        }
    }

    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), Unread> {
        // A server that does not stream sends all chunks as one array.
        let chunks: Vec<Chunk> = if frame.trim_ascii_start().starts_with(b"[") {
            serde_json::from_slice(frame)
        } else {
            serde_json::from_slice(frame).map(|chunk| vec![chunk])
        }
        .map_err(|_| Unread::Malformed)?;
        for chunk in chunks {
            take(chunk, progress)?;
        }
        Ok(())
    }

    fn optional(&self) -> &'static [(&'static str, Concession)] {
        &[
            ("temperature", Concession::Temperature),
            ("seed", Concession::Seed),
            ("response_json_schema", Concession::SecondStructure),
            ("responsejsonschema", Concession::SecondStructure),
            ("response_schema", Concession::SecondStructure),
            ("response_mime_type", Concession::SecondStructure),
            ("response_mime_type", Concession::ThirdStructure),
            ("function calling", Concession::Tools),
            ("tools", Concession::Tools),
        ]
    }

    fn list_path(&self) -> &'static str {
        "/models?pageSize=1000"
    }

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>> {
        let list: List = serde_json::from_slice(body).ok()?;
        let chats = |entry: &Entry| {
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
        Some(list.models.into_iter().filter(chats).map(listed).collect())
    }
}

fn take(chunk: Chunk, progress: &mut Progress) -> Result<(), Unread> {
    if chunk.error.is_some() {
        return Err(Unread::Reported);
    }
    if let Some(tokens) = chunk.usage_metadata {
        let thoughts = tokens.thoughts_token_count.unwrap_or(0);
        if thoughts > 0 {
            progress.thinks();
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
            if let Some(called) = part.function_call {
                progress.whole_call(CallPart {
                    name: Some(called.name),
                    arguments: called.args.to_string(),
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
    content: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    thought: Option<bool>,
    function_call: Option<Called>,
    thought_signature: Option<String>,
}

#[derive(Deserialize)]
struct Called {
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
