//! Ollama's own chat format: the only one of its two that takes a schema and lets the length of the context be set.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use roundtable_core::usage::Usage;
use roundtable_engine::model::{Finish, RawJson, Request};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::frames::Framing;
use super::pictures;
use super::wire::{
    Call, CallForm, CallPart, Concession, Concessions, Listed, Progress, Turn, Unread, Wire, chat,
    functions, json, narrow_seed,
};

const SMALLEST_CONTEXT: u32 = 4096;
const CONTEXT_STEP: u32 = 1024;

#[derive(Default)]
pub(super) struct Ollama {
    /// The longest context asked of each model. A change of it makes the server load the model anew, so it only grows.
    contexts: Mutex<HashMap<String, u32>>,
}

impl Ollama {
    fn context(&self, request: &Request, limit: u32) -> u32 {
        let needed = estimated_tokens(request).saturating_add(limit);
        let needed = needed
            .div_ceil(CONTEXT_STEP)
            .saturating_mul(CONTEXT_STEP)
            .max(SMALLEST_CONTEXT);
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = contexts.get_mut(&request.model) {
            *context = needed.max(*context);
            return *context;
        }
        contexts.insert(request.model.clone(), needed);
        needed
    }
}

/// An upper estimate, because a context that is too short cuts the prompt without a word: three letters a token where
/// English has four, one token for a character of any other script, and the tokens between messages.
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
    messages: Vec<Turn<'a>>,
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

impl Wire for Ollama {
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn call(&self, request: &Request, conceded: Concessions) -> Call {
        // A reply that is held to a schema can call no tool: as long as it may, the schema is put into words.
        let tools = conceded.open_tools(request).map(functions);
        let conceded = match tools {
            Some(_) => conceded.with(Concession::SecondStructure),
            None => conceded,
        };
        let in_words = conceded.has(Concession::SecondStructure);
        let system = conceded.system(Concession::SecondStructure, request);
        let limit = conceded.limit(request.max_output_tokens);
        let body = Body {
            model: &request.model,
            messages: chat(system, &request.messages, CallForm::Names),
            stream: true,
            format: request
                .schema
                .as_ref()
                .filter(|_| !in_words)
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
            body: pictures::beside(json(&body), &request.images),
        }
    }

    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), Unread> {
        let line: Line = serde_json::from_slice(frame).map_err(|_| Unread::Malformed)?;
        if line.error.is_some() {
            return Err(Unread::Reported);
        }
        if let Some(said) = line.message {
            if let Some(thought) = said.thinking.filter(|thought| !thought.is_empty()) {
                progress.reasoning(thought);
            }
            if let Some(text) = said.content {
                progress.text(text);
            }
            for called in said.tool_calls.unwrap_or_default() {
                progress.whole_call(CallPart {
                    name: Some(called.function.name),
                    arguments: called.function.arguments.to_string(),
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

    fn optional(&self) -> &'static [(&'static str, Concession)] {
        &[
            ("format", Concession::SecondStructure),
            ("grammar", Concession::SecondStructure),
            ("schema", Concession::SecondStructure),
            ("tools", Concession::Tools),
        ]
    }

    fn list_path(&self) -> &'static str {
        "/api/tags"
    }

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>> {
        let list: List = serde_json::from_slice(body).ok()?;
        let listed = |entry: Entry| Listed {
            id: entry.name,
            created: None,
            bytes: entry.size,
        };
        Some(list.models.into_iter().map(listed).collect())
    }
}

#[derive(Deserialize)]
struct Line {
    message: Option<Said>,
    done: Option<bool>,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<Called>>,
}

#[derive(Deserialize)]
struct Called {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct List {
    models: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    size: Option<u64>,
}

#[cfg(test)]
#[path = "ollama_tests.rs"]
mod tests;
