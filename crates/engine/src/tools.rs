//! The tools that seats may use (M-15): searching and reading the sources that the user gave, and a calculator.
//!
//! Whatever a model asks for, it gets an answer: what was found, or what was wrong with the call. Tools see the given
//! sources and nothing else, change nothing, and are the same on every replay. How often they may be called in a step and
//! how much they may say is bounded; texts of sources are quoted, because they are data and no instructions (C-12).

use std::fmt::Write;
use std::sync::Arc;

use roundtable_core::calculator;
use roundtable_core::sources::{Passage, Sources};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::Spent;
use crate::model::{Message, Offer, Speaker, Tool, ToolCall, ToolPart, Tools};
use crate::prompt::quote;
use crate::safety::withhold_text;
use crate::tokens;

/// How many calls of tools one step may make.
pub const MOST_CALLS: usize = 6;
/// What all answers of a step may take together, in tokens: what lies between the target and the hard limit of a prompt.
pub const MOST_TOKENS: u64 = 2000;
/// What one answer may take.
const ANSWER_TOKENS: u64 = 800;
/// So many passages are told at once.
const PASSAGES: usize = 3;
/// A reply that calls more at once is cut here.
const MOST_AT_ONCE: usize = 16;
/// Less room than this is none.
const LEAST_ROOM: u64 = 40;

pub const SEARCH: &str = "search_sources";
pub const READ: &str = "read_source";
pub const CALCULATE: &str = "calculate";

/// What a reference to a calculation begins with.
pub const CALCULATION: &str = "calc:";

#[derive(Debug, Clone)]
pub struct Toolbox {
    sources: Sources,
}

/// What a tool said, and which passages it told.
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
    pub fn new(sources: Sources) -> Self {
        Self { sources }
    }

    pub fn offered(&self) -> Tools {
        let mut list = Vec::new();
        if !self.sources.is_empty() {
            let names: Vec<&str> = self
                .sources
                .list()
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            let names = names.join(", ");
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

    /// Answers a call in at most so many tokens.
    pub fn answer(&self, call: &ToolCall, room: u64) -> Answer {
        let room = room.min(ANSWER_TOKENS);
        if room < LEAST_ROOM {
            return Answer::plain("No room is left for answers of tools in this turn. Reply now.");
        }
        match call.name.as_str() {
            SEARCH => match arguments::<Query>(call, "{\"query\": \"a few words\"}") {
                Ok(asked) => self.search(&asked.query, room),
                Err(wrong) => wrong,
            },
            READ => match arguments::<From>(call, "{\"from\": \"an id of a passage\"}") {
                Ok(asked) => self.read(&asked.from, room),
                Err(wrong) => wrong,
            },
            CALCULATE => match arguments::<Expression>(call, "{\"expression\": \"2 + 3\"}") {
                Ok(asked) => calculate(&asked.expression),
                Err(wrong) => wrong,
            },
            _ => {
                let known: Vec<String> =
                    self.offered().list.into_iter().map(|it| it.name).collect();
                Answer::plain(format!(
                    "There is no such tool; there are: {}.",
                    known.join(", ")
                ))
            }
        }
    }

    fn search(&self, query: &str, room: u64) -> Answer {
        let found = self.sources.search(query, PASSAGES);
        if found.is_empty() {
            return Answer::plain("Nothing was found. Try other words.");
        }
        let head = "Cite a passage by its id, as the title of a reference.";
        told(head, found.into_iter(), room)
    }

    fn read(&self, from: &str, room: u64) -> Answer {
        let Some(passages) = self.sources.from(from) else {
            let names: Vec<&str> = self
                .sources
                .list()
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            return Answer::plain(format!(
                "There is no such source or passage. The sources are: {}.",
                names.join(", ")
            ));
        };
        let mut answer = told("", passages.iter(), room);
        if let Some(next) = passages.get(answer.passages.len()) {
            // Writing to a String cannot fail.
            let _ = write!(answer.text, "\n\nIt goes on at {}.", next.id);
        }
        answer
    }
}

/// Passages with their ids, as far as they fit.
fn told<'p>(head: &str, passages: impl Iterator<Item = &'p Passage>, room: u64) -> Answer {
    let mut answer = Answer::plain(head);
    let mut left = room.saturating_sub(tokens::count(head));
    for passage in passages {
        let quoted = quoted(passage, left);
        let takes = tokens::count(&quoted);
        if takes > left || (left < LEAST_ROOM && !answer.passages.is_empty()) {
            break;
        }
        left -= takes;
        if !answer.text.is_empty() {
            answer.text.push('\n');
        }
        answer.text.push_str(&quoted);
        answer.passages.push(passage.id.clone());
    }
    answer
}

/// A passage as seats read it: its id, and its words as somebody else's.
pub fn quoted(passage: &Passage, room: u64) -> String {
    const AROUND: u64 = 24;
    let text = tokens::shorten(&passage.text, room.saturating_sub(AROUND));
    quote(&text, &format!("the source {}", passage.id))
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

/// What the call says, or an answer that says how it should.
fn arguments<T: for<'de> Deserialize<'de>>(call: &ToolCall, form: &str) -> Result<T, Answer> {
    let value: Option<Value> = serde_json::from_str(&call.arguments).ok();
    // Some models write the object as a text within a text.
    let value = match value {
        Some(Value::String(inner)) => serde_json::from_str(&inner).ok(),
        value => value,
    };
    let read = value.and_then(|value| serde_json::from_value(value).ok());
    read.ok_or_else(|| {
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

/// One reply of a model that called tools, and what it was answered: an entry of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Hash of the step's request.
    pub request: String,
    /// What it said beside the calls.
    pub said: String,
    pub calls: Vec<Answered>,
    pub spent: Spent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub call: ToolCall,
    pub answer: String,
    /// The passages that were told, by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<String>,
}

impl Exchange {
    /// As the model reads it afterwards.
    pub fn messages(&self) -> [Message; 2] {
        let message = |speaker, text: &str, tools: Vec<ToolPart>| Message {
            speaker,
            text: text.to_owned(),
            shared: false,
            tools,
        };
        let calls = self.calls.iter().map(|it| ToolPart::Call(it.call.clone()));
        let answers = self.calls.iter().map(|it| ToolPart::Result {
            id: it.call.id.clone(),
            name: it.call.name.clone(),
            text: it.answer.clone(),
        });
        [
            message(Speaker::Assistant, &self.said, calls.collect()),
            message(Speaker::User, "", answers.collect()),
        ]
    }

    /// The exchange behind a note of the journal, with the step that it belongs to.
    pub fn of<'k>(key: &'k str, value: &Value) -> Option<(&'k str, Self)> {
        let (step, number) = key.rsplit_once("/tools-")?;
        number.parse::<u32>().ok()?;
        Some((step, Deserialize::deserialize(value).ok()?))
    }
}

/// How much of the tools a step has used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Session {
    calls: usize,
    tokens: u64,
}

impl Session {
    pub fn take_up(&mut self, exchange: &Exchange) {
        self.calls += exchange.calls.len();
        let answers = exchange.calls.iter().map(|it| tokens::count(&it.answer));
        self.tokens += answers.sum::<u64>();
    }

    /// Nothing more may be called.
    pub fn is_over(&self) -> bool {
        self.calls >= MOST_CALLS || self.tokens + LEAST_ROOM > MOST_TOKENS
    }

    /// Answers all calls of one reply; those beyond the limit are told so.
    pub fn answer(
        &self,
        toolbox: &Toolbox,
        request: &str,
        said: String,
        mut calls: Vec<ToolCall>,
        spent: Spent,
    ) -> Exchange {
        calls.truncate(MOST_AT_ONCE);
        let mut left = MOST_TOKENS.saturating_sub(self.tokens);
        let answered = (self.calls + 1..).zip(calls).map(|(number, mut call)| {
            call.arguments = withhold_text(&call.arguments);
            let answer = if number > MOST_CALLS {
                Answer::plain(format!(
                    "Not done: at most {MOST_CALLS} calls can be made in a turn. Reply now."
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
        }
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
