//! OpenAI's chat completions format, for OpenAI and compatible servers.
//!
//! Compatible servers support fewer parameters, and so do newer OpenAI models. A rejected parameter is omitted from then
//! on for that model. A rejected schema is sent in OpenAI's strict dialect first, because many compatible servers only forward it
//! there; then as text, with `json_object`.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};

use roundtable_core::usage::{Money, Usage};
use roundtable_engine::model::{Finish, RawJson, Request, Schema};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::framing::Framing;
use super::images;
use super::prices::typical_price;
use super::schema::OPENAI_STRICT;
use super::wire::{
    Adjustment, Adjustments, Call, CallPart, ChatMessage, FrameError, Listed, Progress,
    ToolCallStyle, WireFormat, chat, functions, json, read_list, sanitize_name,
};

pub(super) struct OpenAi {
    /// OpenAI itself: it has another name for the token limit, and strict schemas.
    pub official: bool,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonSchema { json_schema: JsonSchema<'a> },
    JsonObject,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: Cow<'a, str>,
    strict: bool,
    schema: SentSchema<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum SentSchema<'a> {
    Original(&'a RawJson),
    Translated(Value),
}

impl OpenAi {
    fn response_format<'a>(
        &self,
        request: &'a Request,
        adjustments: Adjustments,
    ) -> Option<ResponseFormat<'a>> {
        let schema = request.schema.as_ref()?;
        if adjustments.has(Adjustment::ThirdSchemaMode) {
            None
        } else if adjustments.has(Adjustment::SecondSchemaMode) {
            Some(ResponseFormat::JsonObject)
        } else {
            Some(ResponseFormat::JsonSchema {
                json_schema: json_schema(
                    schema,
                    self.official || adjustments.has(Adjustment::StrictSchema),
                ),
            })
        }
    }

    /// OpenAI accepts tools together with a schema. Most other servers constrain the whole reply to the schema, so that no
    /// tool could be called: they get the schema as text while tools may be called.
    fn adjustments_for(&self, request: &Request, adjustments: Adjustments) -> Adjustments {
        if self.official || adjustments.callable_tools(request).is_none() {
            return adjustments;
        }
        adjustments
            .with(Adjustment::SecondSchemaMode)
            .with(Adjustment::ThirdSchemaMode)
    }

    fn tools(
        &self,
        request: &Request,
        adjustments: Adjustments,
    ) -> (Vec<Value>, Option<&'static str>) {
        let callable = adjustments.callable_tools(request);
        match (callable, adjustments.tools(request)) {
            (Some(tools), _) => (functions(tools), None),
            (None, Some(tools)) if self.official => (functions(&tools.list), Some("none")),
            (None, _) => (Vec::new(), None),
        }
    }
}

fn json_schema(schema: &Schema, is_strict: bool) -> JsonSchema<'_> {
    JsonSchema {
        name: sanitize_name(&schema.name),
        strict: true,
        schema: if is_strict {
            SentSchema::Translated(OPENAI_STRICT.translate(&schema.json))
        } else {
            SentSchema::Original(&schema.json)
        },
    }
}

impl WireFormat for OpenAi {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn call(&self, request: &Request, adjustments: Adjustments) -> Call {
        let adjustments = self.adjustments_for(request, adjustments);
        let (tools, tool_choice) = self.tools(request, adjustments);
        let system = adjustments.system(Adjustment::SecondSchemaMode, request);
        let limit = (!adjustments.has(Adjustment::OmitLimit))
            .then(|| adjustments.limit(request.max_output_tokens));
        let (max_completion_tokens, max_tokens) =
            if self.official == adjustments.has(Adjustment::AlternativeLimitName) {
                (None, limit)
            } else {
                (limit, None)
            };
        let body = Body {
            model: &request.model,
            messages: chat(system, &request.messages, ToolCallStyle::ById),
            stream: true,
            stream_options: (!adjustments.has(Adjustment::OmitStreamOptions)).then_some(
                StreamOptions {
                    include_usage: true,
                },
            ),
            temperature: adjustments.temperature(request),
            seed: adjustments.seed(request),
            max_tokens,
            max_completion_tokens,
            response_format: self.response_format(request, adjustments),
            tools,
            tool_choice,
        };
        Call {
            path: Cow::Borrowed("/chat/completions"),
            body: images::add_to_openai(json(&body), &request.images),
        }
    }

    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), FrameError> {
        if frame.trim_ascii() == b"[DONE]" {
            progress.done = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_slice(frame).map_err(|_| FrameError::Malformed)?;
        if chunk.error.is_some() {
            return Err(FrameError::ErrorReport);
        }
        if let Some(usage) = chunk.usage {
            if usage
                .completion_tokens_details
                .is_some_and(|of| of.reasoning_tokens.unwrap_or(0) > 0)
            {
                progress.mark_thinking();
            }
            progress.usage = Some(Usage {
                input: usage.prompt_tokens.unwrap_or(0),
                output: usage.completion_tokens.unwrap_or(0),
                cached: usage
                    .prompt_tokens_details
                    .and_then(|of| of.cached_tokens)
                    .unwrap_or(0),
            });
        }
        for choice in chunk.choices.unwrap_or_default() {
            let is_whole = choice.message.is_some();
            if let Some(message) = choice.delta.or(choice.message.map(|boxed| *boxed)) {
                if let Some(TextOrParts(thought)) = message.reasoning_content.or(message.reasoning)
                {
                    progress.reasoning(thought);
                }
                if let Some(TextOrParts(text)) = message.content {
                    progress.text(text);
                }
                for part in message.tool_calls.unwrap_or_default() {
                    progress.add_call_part(part.read());
                }
                if message
                    .refusal
                    .is_some_and(|TextOrParts(refusal)| !refusal.is_empty())
                {
                    progress.finish = Some(Finish::Refused);
                }
            }
            match choice.finish_reason.as_deref() {
                Some("length" | "max_tokens") => progress.finish = Some(Finish::Length),
                Some("content_filter") => progress.finish = Some(Finish::Refused),
                // Some servers send it empty with every chunk.
                Some("") => {}
                Some(_) => {
                    progress.finish.get_or_insert(Finish::Stop);
                }
                None if is_whole => {
                    progress.finish.get_or_insert(Finish::Stop);
                }
                None => {}
            }
        }
        Ok(())
    }

    fn adjustable(&self) -> &'static [(&'static str, Adjustment)] {
        /// The number of entries for the strict dialect, which OpenAI itself gets from the start.
        const STRICT: usize = 8;
        const COMPATIBLE: &[(&str, Adjustment)] = &[
            ("response_format", Adjustment::StrictSchema),
            ("response format", Adjustment::StrictSchema),
            ("json_schema", Adjustment::StrictSchema),
            ("json schema", Adjustment::StrictSchema),
            ("guided_json", Adjustment::StrictSchema),
            ("grammar", Adjustment::StrictSchema),
            ("oneof", Adjustment::StrictSchema),
            ("maxlength", Adjustment::StrictSchema),
            ("stream_options", Adjustment::OmitStreamOptions),
            ("temperature", Adjustment::OmitTemperature),
            ("seed", Adjustment::OmitSeed),
            ("max_tokens", Adjustment::AlternativeLimitName),
            ("max_completion_tokens", Adjustment::AlternativeLimitName),
            ("max_tokens", Adjustment::OmitLimit),
            ("max_completion_tokens", Adjustment::OmitLimit),
            ("response_format", Adjustment::SecondSchemaMode),
            ("response format", Adjustment::SecondSchemaMode),
            ("json_schema", Adjustment::SecondSchemaMode),
            ("json schema", Adjustment::SecondSchemaMode),
            ("guided_json", Adjustment::SecondSchemaMode),
            ("grammar", Adjustment::SecondSchemaMode),
            ("oneof", Adjustment::SecondSchemaMode),
            ("anyof", Adjustment::SecondSchemaMode),
            ("response_format", Adjustment::ThirdSchemaMode),
            ("response format", Adjustment::ThirdSchemaMode),
            ("json_object", Adjustment::ThirdSchemaMode),
            ("tools", Adjustment::OmitTools),
            ("tool_choice", Adjustment::OmitTools),
            ("tool choice", Adjustment::OmitTools),
            ("tool use", Adjustment::OmitTools),
            ("function calling", Adjustment::OmitTools),
        ];
        if self.official {
            &COMPATIBLE[STRICT..]
        } else {
            COMPATIBLE
        }
    }

    fn list_path(&self) -> &'static str {
        "/models"
    }

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>> {
        read_list(body, |entry: Entry| Listed {
            id: entry.id,
            created: entry
                .created
                .filter(|seconds| *seconds > 0)
                .and_then(|seconds| {
                    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
                }),
            price: entry.pricing.and_then(Pricing::typical),
            ..Listed::default()
        })
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Tokens>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<MessageDelta>,
    /// Instead of `delta` if the server does not stream. Boxed, because every chunk would reserve space for it.
    message: Option<Box<MessageDelta>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct MessageDelta {
    content: Option<TextOrParts>,
    reasoning_content: Option<TextOrParts>,
    reasoning: Option<TextOrParts>,
    refusal: Option<TextOrParts>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

impl CallDelta {
    fn read(self) -> CallPart {
        let (name, arguments) = self
            .function
            .map_or((None, None), |function| (function.name, function.arguments));
        CallPart {
            index: self.index,
            id: self.id,
            name,
            arguments: match arguments {
                Some(Value::String(text)) => text,
                Some(Value::Null) | None => String::new(),
                // Some servers send the object itself.
                Some(other) => other.to_string(),
            },
            signature: None,
        }
    }
}

/// Text, or the concatenated texts of a list of parts, which some servers send instead. Objects are ignored.
struct TextOrParts(String);

impl<'de> Deserialize<'de> for TextOrParts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrPartsVisitor)
    }
}

struct TextOrPartsVisitor;

impl<'de> Visitor<'de> for TextOrPartsVisitor {
    type Value = TextOrParts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a list of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<TextOrParts, E> {
        Ok(TextOrParts(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<TextOrParts, E> {
        Ok(TextOrParts(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<TextOrParts, A::Error> {
        #[derive(Deserialize)]
        struct Part {
            text: Option<String>,
        }
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Part>()? {
            text.extend(part.text);
        }
        Ok(TextOrParts(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<TextOrParts, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(TextOrParts(String::new()))
    }
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "these are the provider's names")]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Cached>,
    completion_tokens_details: Option<Reasoned>,
}

#[derive(Deserialize)]
struct Cached {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Reasoned {
    reasoning_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    created: Option<u64>,
    pricing: Option<Pricing>,
}

/// Dollars per token as text, as `OpenRouter` lists them. Other shapes are ignored.
#[derive(Deserialize)]
#[serde(untagged)]
enum Pricing {
    PerToken { prompt: String, completion: String },
    Other(IgnoredAny),
}

impl Pricing {
    fn typical(self) -> Option<Money> {
        let Self::PerToken { prompt, completion } = self else {
            return None;
        };
        let per_million = |text: String| text.parse::<f64>().ok().map(|dollars| dollars * 1e6);
        Money::from_dollars(typical_price(
            per_million(prompt)?,
            per_million(completion)?,
        ))
    }
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
