//! The chat completions format, of its maker and of every server that speaks it.
//!
//! Compatible servers know less than the original, and newer models of the original take less than older ones. What one
//! refuses is left out, and remembered.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};

use roundtable_core::usage::Usage;
use roundtable_engine::model::{Finish, RawJson, Request, Schema};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::frames::Framing;
use super::pictures;
use super::schema::OPENAI_STRICT;
use super::wire::{
    Call, CallForm, CallPart, Concession, Concessions, Listed, Progress, Turn, Unread, Wire, chat,
    functions, json, narrow_seed, plain_name,
};

pub(super) struct OpenAi {
    /// The original: it has its own name for the limit, and a stricter idea of schemas.
    pub official: bool,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Turn<'a>>,
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
    schema: Form<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Form<'a> {
    AsItIs(&'a RawJson),
    Translated(Value),
}

impl OpenAi {
    fn response_format<'a>(
        &self,
        request: &'a Request,
        conceded: Concessions,
    ) -> Option<ResponseFormat<'a>> {
        let schema = request.schema.as_ref()?;
        if conceded.has(Concession::ThirdStructure) {
            None
        } else if conceded.has(Concession::SecondStructure) {
            Some(ResponseFormat::JsonObject)
        } else {
            Some(ResponseFormat::JsonSchema {
                json_schema: self.json_schema(schema),
            })
        }
    }

    /// The original takes tools and a schema together. Most others hold every word to the schema, so that no tool could be
    /// called: there the schema is put into words while tools may be called, and demanded again afterwards.
    fn conceded(&self, request: &Request, conceded: Concessions) -> Concessions {
        if self.official || conceded.open_tools(request).is_none() {
            return conceded;
        }
        conceded
            .with(Concession::SecondStructure)
            .with(Concession::ThirdStructure)
    }

    fn tools(
        &self,
        request: &Request,
        conceded: Concessions,
    ) -> (Vec<Value>, Option<&'static str>) {
        let open = conceded.open_tools(request);
        match (open, conceded.tools(request)) {
            (Some(tools), _) => (functions(tools), None),
            (None, Some(tools)) if self.official => (functions(&tools.list), Some("none")),
            (None, _) => (Vec::new(), None),
        }
    }

    fn json_schema<'a>(&self, schema: &'a Schema) -> JsonSchema<'a> {
        JsonSchema {
            name: plain_name(&schema.name),
            strict: true,
            schema: if self.official {
                Form::Translated(OPENAI_STRICT.translate(&schema.json))
            } else {
                Form::AsItIs(&schema.json)
            },
        }
    }
}

impl Wire for OpenAi {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn call(&self, request: &Request, conceded: Concessions) -> Call {
        let conceded = self.conceded(request, conceded);
        let (tools, tool_choice) = self.tools(request, conceded);
        let system = conceded.system(Concession::SecondStructure, request);
        let limit =
            (!conceded.has(Concession::NoLimit)).then(|| conceded.limit(request.max_output_tokens));
        let (max_completion_tokens, max_tokens) =
            if self.official == conceded.has(Concession::OtherLimitName) {
                (None, limit)
            } else {
                (limit, None)
            };
        let body = Body {
            model: &request.model,
            messages: chat(system, &request.messages, CallForm::Ids),
            stream: true,
            stream_options: (!conceded.has(Concession::StreamOptions)).then_some(StreamOptions {
                include_usage: true,
            }),
            temperature: (!conceded.has(Concession::Temperature)).then_some(request.temperature),
            seed: (!conceded.has(Concession::Seed)).then(|| narrow_seed(request.seed)),
            max_tokens,
            max_completion_tokens,
            response_format: self.response_format(request, conceded),
            tools,
            tool_choice,
        };
        Call {
            path: Cow::Borrowed("/chat/completions"),
            body: pictures::in_chat(json(&body), &request.images),
        }
    }

    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), Unread> {
        if frame.trim_ascii() == b"[DONE]" {
            progress.done = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_slice(frame).map_err(|_| Unread::Malformed)?;
        if chunk.error.is_some() {
            return Err(Unread::Reported);
        }
        if let Some(usage) = chunk.usage {
            if usage
                .completion_tokens_details
                .is_some_and(|of| of.reasoning_tokens.unwrap_or(0) > 0)
            {
                progress.thinks();
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
            let whole = choice.message.is_some();
            if let Some(said) = choice.delta.or(choice.message.map(|it| *it)) {
                if let Some(Words(thought)) = said.reasoning_content.or(said.reasoning) {
                    progress.reasoning(thought);
                }
                if let Some(Words(text)) = said.content {
                    progress.text(text);
                }
                for part in said.tool_calls.unwrap_or_default() {
                    progress.call(part.read());
                }
                if said
                    .refusal
                    .is_some_and(|Words(refusal)| !refusal.is_empty())
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
                None if whole => {
                    progress.finish.get_or_insert(Finish::Stop);
                }
                None => {}
            }
        }
        Ok(())
    }

    fn optional(&self) -> &'static [(&'static str, Concession)] {
        &[
            ("stream_options", Concession::StreamOptions),
            ("temperature", Concession::Temperature),
            ("seed", Concession::Seed),
            ("max_tokens", Concession::OtherLimitName),
            ("max_completion_tokens", Concession::OtherLimitName),
            ("max_tokens", Concession::NoLimit),
            ("max_completion_tokens", Concession::NoLimit),
            ("response_format", Concession::SecondStructure),
            ("response format", Concession::SecondStructure),
            ("json_schema", Concession::SecondStructure),
            ("guided_json", Concession::SecondStructure),
            ("grammar", Concession::SecondStructure),
            ("response_format", Concession::ThirdStructure),
            ("response format", Concession::ThirdStructure),
            ("json_object", Concession::ThirdStructure),
            ("tools", Concession::Tools),
            ("tool_choice", Concession::Tools),
            ("tool choice", Concession::Tools),
            ("tool use", Concession::Tools),
            ("function calling", Concession::Tools),
        ]
    }

    fn list_path(&self) -> &'static str {
        "/models"
    }

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>> {
        let list: List = serde_json::from_slice(body).ok()?;
        let listed = |entry: Entry| Listed {
            id: entry.id,
            created: entry
                .created
                .filter(|seconds| *seconds > 0)
                .map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
            bytes: None,
        };
        Some(list.data.into_iter().map(listed).collect())
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
    delta: Option<Said>,
    /// In place of `delta` where the server does not stream. Boxed, because every piece of a stream would make room for it.
    message: Option<Box<Said>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<Words>,
    reasoning_content: Option<Words>,
    reasoning: Option<Words>,
    refusal: Option<Words>,
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
            place: self.index,
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

/// Text, or the texts of a list of parts, which some servers send in its place. Anything else says nothing.
struct Words(String);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or parts of it")
    }

    fn visit_str<E>(self, text: &str) -> Result<Words, E> {
        Ok(Words(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Words, E> {
        Ok(Words(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Words, A::Error> {
        #[derive(Deserialize)]
        struct Part {
            text: Option<String>,
        }
        let mut words = String::new();
        while let Some(part) = parts.next_element::<Part>()? {
            words.extend(part.text);
        }
        Ok(Words(words))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Words, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Words(String::new()))
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
struct List {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    created: Option<u64>,
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
