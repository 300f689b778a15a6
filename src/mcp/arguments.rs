//! From the arguments of a tool call to the request of the REST API.

use std::time::Duration;

use roundtable_core::hex;
use roundtable_engine::depth::Depth;
use roundtable_engine::protocol::{AnyProtocol, Conversation, excess_tokens};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::tools::{DebateTool, Entry};
use crate::format::one_line;
use crate::server::requests::{self, BudgetRequest, NewDebate};

/// A call of a tool that starts a debate.
pub(super) struct DebateCall {
    pub(super) request: NewDebate,
    /// Equal for equal requests.
    pub(super) fingerprint: String,
    pub(super) wait: Option<Duration>,
    /// Sources that are addresses; their texts are added to the request.
    pub(super) links: Vec<Link>,
    /// Whether only the estimate is wanted.
    pub(super) is_estimate: bool,
    protocol: &'static dyn AnyProtocol,
}

/// A source by its address.
pub(super) struct Link {
    pub(super) name: String,
    pub(super) uri: String,
}

/// A source, with a text or an address.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GivenSource {
    name: String,
    text: Option<String>,
    uri: Option<String>,
}

/// The arguments of `debates`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DebatesCall {
    pub(super) id: Option<String>,
    pub(super) action: Action,
    pub(super) text: Option<String>,
    wait_seconds: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    #[default]
    Wait,
    Search,
    Resume,
    Stop,
    Decide,
    FollowUp,
}

/// An error may contain the whole argument; keep the beginning.
const MAX_FAULT_CHARS: usize = 300;
const MAX_FAULTS: usize = 10;

/// Everything that is wrong with the arguments; an agent corrects it and calls again.
pub(super) fn check(entry: &Entry, arguments: &Value) -> Result<(), String> {
    let Some(validator) = &entry.validator else {
        return Ok(());
    };
    let faults = validator.iter_errors(arguments).map(|error| {
        let at = error.instance_path().to_string();
        let message = error.to_string();
        let message: String = match message.char_indices().nth(MAX_FAULT_CHARS) {
            Some((end, _)) => format!("{}…", &message[..end]),
            None => message,
        };
        match at.trim_start_matches('/') {
            "" => message,
            at => format!("{at}: {message}"),
        }
    });
    let faults: Vec<String> = faults.take(MAX_FAULTS).collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("invalid arguments: {}", faults.join("; ")))
}

impl DebateCall {
    /// For arguments that [`check`] has accepted.
    pub(super) fn new(tool: &DebateTool, mut arguments: Map<String, Value>) -> Self {
        let wait = arguments.remove("wait_seconds");
        let is_estimate = arguments.remove("estimate") == Some(Value::Bool(true));
        let fingerprint = fingerprint(tool.name, &arguments);
        let mut rules = Map::new();
        for name in tool.input {
            if let Some(value) = arguments.remove(*name) {
                rules.insert((*name).into(), value);
            }
        }
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        let max_cost = arguments.remove("max_cost").and_then(|cost| cost.as_f64());
        let question = text(arguments.remove(tool.subject.0)).unwrap_or_default();
        let depth = text(arguments.remove("depth"));
        let given = arguments.remove("sources").unwrap_or_default();
        let given = Vec::<GivenSource>::deserialize(given).unwrap_or_default();
        let (mut sources, mut links) = (Vec::new(), Vec::new());
        for GivenSource { name, text, uri } in given {
            match (text, uri) {
                (Some(text), _) => sources.push(requests::GivenSource { name, text }),
                (None, Some(uri)) => links.push(Link { name, uri }),
                // Reported like any other empty source.
                (None, None) => sources.push(requests::GivenSource {
                    name,
                    text: String::new(),
                }),
            }
        }
        let request = NewDebate {
            question,
            cast: text(arguments.remove("cast")),
            rules,
            depth: depth
                .and_then(|name| Depth::named(&name))
                .unwrap_or_default(),
            sources,
            budget: max_cost.map(|max_cost| BudgetRequest {
                max_cost: Some(max_cost),
                ..BudgetRequest::default()
            }),
            ..NewDebate::of(tool.protocol.name())
        };
        Self {
            request,
            fingerprint,
            wait: duration(wait.and_then(|wait| wait.as_f64())),
            links,
            is_estimate,
            protocol: tool.protocol,
        }
    }

    /// For a protocol whose seats search no sources: every seat reads them whole, quoted after the question, so they have the limit of
    /// a question.
    pub(super) fn quote_sources(&mut self, limit: u64) -> Result<(), String> {
        if self.protocol.needs().sources || self.request.sources.is_empty() {
            return Ok(());
        }
        let sources = std::mem::take(&mut self.request.sources);
        let quotes = sources.iter().map(|source| {
            let lines: Vec<String> = source
                .text
                .trim()
                .lines()
                .map(|line| format!("> {line}"))
                .collect();
            format!("{}:\n\n{}", one_line(&source.name), lines.join("\n"))
        });
        let quotes = quotes.collect::<Vec<_>>().join("\n\n");
        if let Some(count) = excess_tokens(&quotes, limit) {
            return Err(format!(
                "the sources have {count} tokens; the limit is {limit}, because every seat reads them whole. Shorten them, or call \
                 `debate`, whose seats search their sources"
            ));
        }
        let said = Conversation {
            question: std::mem::take(&mut self.request.question),
            context: Some(format!("Sources, quoted:\n\n{quotes}")),
            images: Vec::new(),
        };
        let rules = Value::Object(std::mem::take(&mut self.request.rules));
        let conversed = self.protocol.converse(rules, said);
        let (question, rules) = conversed.map_err(|faults| {
            let faults: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
            faults.join("; ")
        })?;
        self.request.question = question;
        if let Value::Object(rules) = rules {
            let given = rules.into_iter().filter(|(_, value)| !value.is_null());
            self.request.rules = given.collect();
        }
        Ok(())
    }
}

impl DebatesCall {
    /// For arguments that [`check`] has accepted.
    pub(super) fn new(arguments: &Value) -> Self {
        Self::deserialize(arguments).unwrap_or_default()
    }

    pub(super) fn wait(&self) -> Option<Duration> {
        duration(self.wait_seconds)
    }

    pub(super) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or("last")
    }
}

fn duration(seconds: Option<f64>) -> Option<Duration> {
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// A hash that does not depend on the order of the arguments.
pub(super) fn fingerprint(tool: &str, arguments: &Map<String, Value>) -> String {
    let mut plain = json!({ "tool": tool, "arguments": arguments });
    plain.sort_all_objects();
    hex::encode(Sha256::digest(plain.to_string().as_bytes()))
}
