//! Tools for seats (M-15): search and read the user's sources, and a calculator.
//!
//! Every tool call gets an answer: the result, or what is wrong with the call. Tools are read-only, deterministic, and see
//! only the given sources. Calls and answer tokens per step are bounded. Source texts are quoted, because they are data, not
//! instructions (C-12).

use std::fmt::Write;
use std::sync::Arc;

use roundtable_core::calculator;
use roundtable_core::sources::{Passage, Sources};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::Spent;
use crate::model::{Fallback, Message, Offer, Speaker, Tool, ToolCall, ToolPart, Tools};
use crate::prompt::{QuoteTag, in_marks};
use crate::safety::withhold_text;
use crate::tokens;

/// Tool calls that one step may make.
pub const MAX_CALLS: usize = 6;
/// Tokens for all tool answers of a step: the difference between the target and the hard limit of a prompt.
pub const MAX_TOKENS: u64 = 2000;
/// Tokens for one answer.
const MAX_ANSWER_TOKENS: u64 = 800;
/// Passages in one search result.
const MAX_PASSAGES: usize = 3;
/// Tool calls in one reply; further ones are dropped.
const MAX_CALLS_PER_REPLY: usize = 16;
/// With fewer tokens left, tools are closed.
const MIN_ROOM: u64 = 40;

pub const SEARCH: &str = "search_sources";
pub const READ: &str = "read_source";
pub const CALCULATE: &str = "calculate";

/// Prefix of a reference to a calculation.
pub const CALCULATION: &str = "calc:";

/// The tools offered to a seat, over one set of sources.
#[derive(Debug, Clone)]
pub struct Toolbox {
    sources: Sources,
    quote_tag: QuoteTag,
}

/// A tool's answer and the ids of the passages in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub passages: Vec<String>,
}

impl Answer {
    fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            passages: Vec::new(),
        }
    }
}

#[derive(Deserialize)]
struct Query {
    query: String,
}

#[derive(Deserialize)]
struct From {
    from: String,
}

#[derive(Deserialize)]
struct Expression {
    expression: String,
}

impl Toolbox {
    pub fn new(sources: Sources, quote_tag: QuoteTag) -> Self {
        Self { sources, quote_tag }
    }

    /// The sources' names for a prompt.
    fn names(&self) -> String {
        let names = self.sources.list().iter();
        let names: Vec<String> = names.map(|source| in_marks(&source.name)).collect();
        names.join(", ")
    }

    pub fn offered(&self) -> Tools {
        let mut list = Vec::new();
        if !self.sources.is_empty() {
            let names = self.names();
            list.push(tool(
                SEARCH,
                &format!("Search the sources that the person who asked gave ({names}). Gives the best passages, each with its id."),
                "query",
                "A few words that the passage should have.",
            ));
            list.push(tool(
                READ,
                "Read on in a source from a passage, or from its beginning.",
                "from",
                "The id of a passage, or the name of a source.",
            ));
        }
        list.push(tool(
            CALCULATE,
            "Calculate. Knows + - * / ^ %, parentheses, sqrt, ln, exp, abs, min, max, round(value, places), pi, e; 15% is 0.15.",
            "expression",
            "Such as (1200 - 340) * 15%.",
        ));
        Tools {
            list,
            offer: Offer::Open,
        }
    }

    /// Answers a call in at most `room` tokens.
    pub fn answer(&self, call: &ToolCall, room: u64) -> Answer {
        let room = room.min(MAX_ANSWER_TOKENS);
        if room < MIN_ROOM {
            return Answer::plain("No room is left for answers of tools in this turn. Reply now.");
        }
        match call.name.as_str() {
            SEARCH => match arguments::<Query>(call, "{\"query\": \"a few words\"}") {
                Ok(Query { query }) => self.search(&query, room),
                Err(answer) => answer,
            },
            READ => match arguments::<From>(call, "{\"from\": \"an id of a passage\"}") {
                Ok(From { from }) => self.read(&from, room),
                Err(answer) => answer,
            },
            CALCULATE => match arguments::<Expression>(call, "{\"expression\": \"2 + 3\"}") {
                Ok(Expression { expression }) => calculate(&expression),
                Err(answer) => answer,
            },
            _ => {
                let known: Vec<String> = self.offered().list.into_iter().map(|t| t.name).collect();
                Answer::plain(format!(
                    "There is no such tool; there are: {}.",
                    known.join(", ")
                ))
            }
        }
    }

    fn search(&self, query: &str, room: u64) -> Answer {
        let found = self.sources.search(query, MAX_PASSAGES);
        if found.is_empty() {
            return Answer::plain("Nothing was found. Try other words.");
        }
        let head = "Cite a passage by its id, as the title of a reference.";
        quote_passages(head, found.into_iter(), room, &self.quote_tag)
    }

    fn read(&self, from: &str, room: u64) -> Answer {
        let Some(passages) = self.sources.from(from) else {
            return Answer::plain(format!(
                "There is no such source or passage. The sources are: {}.",
                self.names()
            ));
        };
        let mut answer = quote_passages("", passages.iter(), room, &self.quote_tag);
        if let Some(next) = passages.get(answer.passages.len()) {
            // Writing to a String cannot fail.
            let _ = write!(answer.text, "\n\nIt goes on at {}.", in_marks(&next.id));
        }
        answer
    }
}

/// Quotes passages with their ids, as many as fit.
fn quote_passages<'p>(
    head: &str,
    passages: impl Iterator<Item = &'p Passage>,
    room: u64,
    tag: &QuoteTag,
) -> Answer {
    let mut answer = Answer::plain(head);
    let mut left = room.saturating_sub(tokens::count(head));
    for passage in passages {
        let quoted = quoted(passage, left, tag);
        let size = tokens::count(&quoted);
        if size > left || (left < MIN_ROOM && !answer.passages.is_empty()) {
            break;
        }
        left -= size;
        if !answer.text.is_empty() {
            answer.text.push('\n');
        }
        answer.text.push_str(&quoted);
        answer.passages.push(passage.id.clone());
    }
    answer
}

/// A passage as seats read it: quoted, with its id.
pub fn quoted(passage: &Passage, room: u64, tag: &QuoteTag) -> String {
    const QUOTE_TOKENS: u64 = 30;
    let text = tokens::shorten(&passage.text, room.saturating_sub(QUOTE_TOKENS));
    tag.quote(&text, &format!("the source {}", passage.id))
}

fn calculate(expression: &str) -> Answer {
    Answer::plain(match calculator::evaluate(expression) {
        Ok(value) => format!(
            "{} = {}\nCite it as: {CALCULATION} {}",
            expression.trim(),
            calculator::format_number(value),
            expression.trim()
        ),
        Err(error) => format!("This cannot be calculated: {error}."),
    })
}

/// The parsed arguments, or an answer that explains the expected form.
fn arguments<T: for<'de> Deserialize<'de>>(call: &ToolCall, form: &str) -> Result<T, Answer> {
    let value: Option<Value> = serde_json::from_str(&call.arguments).ok();
    // Some models encode the object twice.
    let value = match value {
        Some(Value::String(inner)) => serde_json::from_str(&inner).ok(),
        value => value,
    };
    let parsed = value.and_then(|value| serde_json::from_value(value).ok());
    parsed.ok_or_else(|| {
        Answer::plain(format!(
            "The arguments cannot be read; they must be {form}."
        ))
    })
}

fn tool(name: &str, description: &str, parameter: &str, what: &str) -> Tool {
    let mut properties = serde_json::Map::new();
    properties.insert(
        parameter.to_owned(),
        json!({ "type": "string", "description": what }),
    );
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: Arc::new(
            json!({
                "type": "object",
                "properties": properties,
                "required": [parameter],
                "additionalProperties": false,
            })
            .into(),
        ),
    }
}

/// A reply of a model with tool calls, and their answers. Journaled as one note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Hash of the step's request.
    pub request: String,
    /// Text of the reply in addition to the calls.
    pub said: String,
    pub calls: Vec<Answered>,
    pub spent: Spent,
    /// The fallback model that made the calls, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    pub call: ToolCall,
    pub answer: String,
    /// Ids of the passages in the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<String>,
}

impl Exchange {
    /// The exchange as messages of the next request.
    pub fn messages(&self) -> [Message; 2] {
        let message = |speaker, text: &str, tools: Vec<ToolPart>| Message {
            speaker,
            text: text.to_owned(),
            shared: false,
            tools,
        };
        let calls = self.calls.iter().map(|c| ToolPart::Call(c.call.clone()));
        let answers = self.calls.iter().map(|c| ToolPart::Result {
            id: c.call.id.clone(),
            name: c.call.name.clone(),
            text: c.answer.clone(),
        });
        [
            message(Speaker::Assistant, &self.said, calls.collect()),
            message(Speaker::User, "", answers.collect()),
        ]
    }

    /// Reads an exchange from a note of the journal, and the step it belongs to.
    pub fn of<'k>(key: &'k str, value: &Value) -> Option<(&'k str, Self)> {
        let (step, number) = key.rsplit_once("/tools-")?;
        number.parse::<u32>().ok()?;
        Some((step, Deserialize::deserialize(value).ok()?))
    }
}

/// Tool usage of one step.
#[derive(Debug, Clone, Copy, Default)]
pub struct Session {
    calls: usize,
    tokens: u64,
}

impl Session {
    pub fn add(&mut self, exchange: &Exchange) {
        self.calls += exchange.calls.len();
        let answers = exchange.calls.iter().map(|c| tokens::count(&c.answer));
        self.tokens += answers.sum::<u64>();
    }

    /// Whether the limits are reached.
    pub fn is_over(&self) -> bool {
        self.calls >= MAX_CALLS || self.tokens + MIN_ROOM > MAX_TOKENS
    }

    /// Answers all calls of one reply; calls beyond the limit get an answer that says so.
    pub fn answer(
        &self,
        toolbox: &Toolbox,
        request: &str,
        said: String,
        mut calls: Vec<ToolCall>,
        spent: Spent,
    ) -> Exchange {
        calls.truncate(MAX_CALLS_PER_REPLY);
        let mut left = MAX_TOKENS.saturating_sub(self.tokens);
        let answered = (self.calls + 1..).zip(calls).map(|(number, mut call)| {
            call.arguments = withhold_text(&call.arguments);
            let answer = if number > MAX_CALLS {
                Answer::plain(format!(
                    "Not done: at most {MAX_CALLS} calls can be made in a turn. Reply now."
                ))
            } else {
                toolbox.answer(&call, left)
            };
            left = left.saturating_sub(tokens::count(&answer.text));
            Answered {
                call,
                answer: answer.text,
                passages: answer.passages,
            }
        });
        Exchange {
            request: request.to_owned(),
            said,
            calls: answered.collect(),
            spent,
            fallback: None,
        }
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
