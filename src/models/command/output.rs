//! Reads a reply, its usage and its errors from the standard output of a program.

use roundtable_core::usage::Usage;
use serde_json::Value;

use super::super::attempt::MAX_REPORTED_TOKENS;
use crate::config::{Output, ReplyRule};

/// The starts of lines at which a document is looked for, after lines that are not JSON.
const MAX_STARTS: usize = 64;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Reply {
    pub text: Option<String>,
    pub usage: Option<Usage>,
    pub error: Option<String>,
    pub is_complete: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// Ends within a document or a character.
    Truncated,
    NotUtf8 {
        at: usize,
    },
    NoJson,
}

pub(super) fn read(
    output: Output,
    rules: &[ReplyRule],
    stdout: &[u8],
) -> Result<Reply, Unreadable> {
    let text = std::str::from_utf8(stdout).map_err(|error| match error.error_len() {
        None => Unreadable::Truncated,
        Some(_) => Unreadable::NotUtf8 {
            at: error.valid_up_to(),
        },
    })?;
    let documents = match output {
        Output::Text => {
            return Ok(Reply {
                text: Some(text.trim().to_owned()),
                is_complete: true,
                ..Reply::default()
            });
        }
        Output::Json => vec![document(text)?],
        Output::JsonLines => lines(text)?,
    };
    Ok(Reading::of(&documents, rules).reply)
}

/// The first JSON document that starts a line. Programs print warnings and progress before it.
fn document(text: &str) -> Result<Value, Unreadable> {
    let text = text.trim_start();
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let starts = starts.filter(|at| text[*at..].starts_with(['{', '[']));
    let mut problem = Unreadable::NoJson;
    for start in starts.take(MAX_STARTS) {
        let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter();
        match documents.next() {
            Some(Ok(document)) => return Ok(document),
            Some(Err(error)) if error.is_eof() => problem = Unreadable::Truncated,
            Some(Err(_)) | None => {}
        }
    }
    Err(problem)
}

/// The JSON documents among the lines. Only the last line may be cut off.
fn lines(text: &str) -> Result<Vec<Value>, Unreadable> {
    let mut documents = Vec::new();
    let mut is_truncated = false;
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('{'))
    {
        match serde_json::from_str(line) {
            Ok(document) => {
                documents.push(document);
                is_truncated = false;
            }
            Err(error) => is_truncated = error.is_eof(),
        }
    }
    match (is_truncated, documents.is_empty()) {
        (true, _) => Err(Unreadable::Truncated),
        (false, true) => Err(Unreadable::NoJson),
        (false, false) => Ok(documents),
    }
}

#[derive(Default)]
struct Reading {
    reply: Reply,
    parts: String,
    json: Option<String>,
    ended: bool,
}

impl Reading {
    fn of(documents: &[Value], rules: &[ReplyRule]) -> Self {
        let mut reading = Self::default();
        for document in documents {
            for rule in rules.iter().filter(|rule| applies(rule, document)) {
                reading.apply(rule, document);
            }
        }
        if !reading.parts.is_empty() {
            reading.reply.text = Some(std::mem::take(&mut reading.parts));
        }
        if let Some(json) = reading.json.take() {
            reading.reply.text = Some(json);
        }
        reading.reply.is_complete = reading.ended || !rules.iter().any(|rule| rule.end);
        reading
    }

    fn apply(&mut self, rule: &ReplyRule, document: &Value) {
        let text = |pointer: &Option<String>| {
            let value = pointer.as_ref().and_then(|pointer| {
                let mut values = find(document, pointer).into_iter();
                values.find(|value| !value.is_null())
            })?;
            Some(
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned),
            )
        };
        if let Some(text) = text(&rule.text) {
            self.reply.text = Some(text);
        }
        if let Some(part) = text(&rule.append) {
            self.parts.push_str(&part);
        }
        self.json = text(&rule.json).or(self.json.take());
        self.reply.error = text(&rule.error).or(self.reply.error.take());
        self.ended |= rule.end;
        let sum = |pointers: &[String]| -> Option<u64> {
            let values = pointers.iter().flat_map(|pointer| find(document, pointer));
            let numbers: Vec<u64> = values.filter_map(Value::as_u64).collect();
            (!numbers.is_empty()).then(|| {
                let sum = numbers
                    .iter()
                    .fold(0_u64, |sum, one| sum.saturating_add(*one));
                sum.min(MAX_REPORTED_TOKENS)
            })
        };
        let (input, output) = (sum(&rule.input_tokens), sum(&rule.output_tokens));
        if input.is_some() || output.is_some() {
            let usage = self.reply.usage.get_or_insert_default();
            *usage += Usage {
                input: input.unwrap_or_default(),
                output: output.unwrap_or_default(),
                cached: sum(&rule.cached_tokens).unwrap_or_default(),
            };
        }
    }
}

fn applies(rule: &ReplyRule, document: &Value) -> bool {
    let holds = |(pointer, expected): &(String, Value)| {
        let values = find(document, pointer);
        values.into_iter().any(|value| value == expected)
    };
    rule.when.iter().all(holds)
}

/// The values at a JSON pointer in which `*` matches every entry.
fn find<'d>(document: &'d Value, pointer: &str) -> Vec<&'d Value> {
    let mut found = vec![document];
    for step in pointer.split('/').skip(1) {
        let key = step.replace("~1", "/").replace("~0", "~");
        found = found
            .into_iter()
            .flat_map(|value| -> Vec<&'d Value> {
                match value {
                    Value::Object(fields) if step == "*" => fields.values().collect(),
                    Value::Array(items) if step == "*" => items.iter().collect(),
                    Value::Object(fields) => fields.get(&key).into_iter().collect(),
                    Value::Array(items) => {
                        let at = key.parse::<usize>().ok();
                        at.and_then(|at| items.get(at)).into_iter().collect()
                    }
                    _ => Vec::new(),
                }
            })
            .collect();
    }
    found
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
