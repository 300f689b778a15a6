//! Parses and validates the text of a reply: strip reasoning, parse, extract a fenced or balanced block, repair, validate;
//! if that fails, normalize the spelling and validate again. Errors are written for the model, which gets them with the retry.

use std::borrow::Cow;

use serde_json::Value;

use super::normalize::normalized;
use super::repair::repaired;
use super::{Reply, schema};
use crate::model::{Finish, RawJson};

/// Why a reply is invalid. The message is sent to the model with the retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    #[error("The reply was empty.")]
    Empty,
    /// Truncated by the token limit. Retried with a higher limit; this message is never sent to a model.
    #[error("The reply was cut off at the limit of tokens.")]
    CutOff,
    #[error("The provider withheld the reply.")]
    Refused,
    #[error("The reply is prose instead of the required form.")]
    Prose,
    #[error("The reply is not a JSON object: {0}")]
    NotJson(String),
    /// Another shape than the schema's.
    #[error("The reply does not fit the schema: {}.", .0.join("; "))]
    Invalid(Vec<String>),
    /// A value that the schema does not allow.
    #[error("The reply does not fit the schema: {}.", .0.join("; "))]
    WrongValue(Vec<String>),
    /// Matches the schema but violates a demand of the step.
    #[error("The reply cannot be used: {}", .0.join(" "))]
    Unusable(Vec<String>),
}

impl ReplyError {
    /// Whether there is no reply that the model could correct in a retry.
    pub fn has_no_reply(&self) -> bool {
        match self {
            Self::Empty | Self::CutOff | Self::Refused => true,
            Self::Prose
            | Self::NotJson(_)
            | Self::Invalid(_)
            | Self::WrongValue(_)
            | Self::Unusable(_) => false,
        }
    }

    /// Whether only the form is wrong, so that another model can put the words into the schema without guessing.
    pub fn is_about_form(&self) -> bool {
        match self {
            Self::Prose | Self::NotJson(_) | Self::Invalid(_) => true,
            Self::Empty
            | Self::CutOff
            | Self::Refused
            | Self::WrongValue(_)
            | Self::Unusable(_) => false,
        }
    }
}

const MAX_FAULTS: usize = 8;

/// Reads a reply of type `T`. `sent` is the schema that was sent with the request.
///
/// # Errors
/// [`ReplyError`] if the text is not a valid `T`.
pub fn read<T: Reply>(text: &str, finish: Finish, sent: &RawJson) -> Result<T, ReplyError> {
    read_mended(text, finish, sent).map(|(reply, _)| reply)
}

/// Like [`read`], with a remark on every text that was cut and every optional value that was left out.
///
/// # Errors
/// [`ReplyError`] if the text is not a valid `T`.
pub fn read_mended<T: Reply>(
    text: &str,
    finish: Finish,
    sent: &RawJson,
) -> Result<(T, Vec<String>), ReplyError> {
    let text = without_reasoning(text);
    let text = text.trim();
    match finish {
        Finish::Refused => return Err(ReplyError::Refused),
        Finish::Length | Finish::Stop => {}
    }
    if text.is_empty() {
        return Err(if finish == Finish::Length {
            ReplyError::CutOff
        } else {
            ReplyError::Empty
        });
    }
    let value = object_in(text, finish)?;
    validated(value.clone()).or_else(|error| {
        let normalized = normalized(&value, sent);
        normalized
            .and_then(|value| validated(value).ok())
            .ok_or(error)
    })
}

fn validated<T: Reply>(mut value: Value) -> Result<(T, Vec<String>), ReplyError> {
    T::rewrite(&mut value);
    let mut faults = schema::derived::<T>().faults(&value, MAX_FAULTS);
    let mut remarks = Vec::new();
    if !faults.is_empty() {
        let mended: Option<Vec<String>> =
            faults.iter().map(|fault| fault.mend(&mut value)).collect();
        if let Some(mended) = mended {
            remarks = mended;
            faults = schema::derived::<T>().faults(&value, MAX_FAULTS);
        }
    }
    if !faults.is_empty() {
        let messages = faults.iter().map(|fault| short(&fault.message)).collect();
        return Err(if faults.iter().any(|fault| fault.is_value) {
            ReplyError::WrongValue(messages)
        } else {
            ReplyError::Invalid(messages)
        });
    }
    let reply = T::deserialize(&value);
    let reply =
        reply.map_err(|error: serde_json::Error| ReplyError::Invalid(vec![error.to_string()]))?;
    Ok((reply, remarks))
}

fn short(message: &str) -> String {
    if message.chars().count() <= 200 {
        return message.to_owned();
    }
    let head: String = message.chars().take(90).collect();
    let tail: Vec<char> = message.chars().rev().take(90).collect();
    format!("{head} … {}", tail.iter().rev().collect::<String>())
}

pub(super) fn object_in(text: &str, finish: Finish) -> Result<Value, ReplyError> {
    let error = match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => return Ok(value),
        Ok(_) => "it is another kind of JSON value".to_owned(),
        Err(error) => error.to_string(),
    };
    if let Some(block) = fenced(text).or_else(|| balanced(text))
        && let Ok(value) = serde_json::from_str::<Value>(block)
        && value.is_object()
    {
        return Ok(value);
    }
    // Repairing a truncated reply would invent its end.
    if finish == Finish::Length {
        return Err(ReplyError::CutOff);
    }
    let from_brace = text.find('{').map(|start| &text[start..]);
    let to_brace = from_brace.and_then(|rest| rest.rfind('}').map(|end| &rest[..=end]));
    let candidates = [fenced(text), balanced(text), to_brace, from_brace];
    let mut candidates: Vec<&str> = candidates.into_iter().flatten().collect();
    candidates.dedup();
    let object = candidates.into_iter().find_map(repaired);
    object.ok_or_else(|| match from_brace {
        Some(_) => ReplyError::NotJson(short(&error)),
        None if text.starts_with('[') => ReplyError::NotJson(short(&error)),
        None => ReplyError::Prose,
    })
}

/// Removes a leading reasoning block, which some models write into the reply.
pub fn without_reasoning(text: &str) -> Cow<'_, str> {
    let start = text.trim_start();
    for (open, close) in [
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<reasoning>", "</reasoning>"),
    ] {
        if let Some(rest) = start.strip_prefix(open) {
            return match rest.split_once(close) {
                Some((_, reply)) => Cow::Borrowed(reply),
                None => Cow::Borrowed(""),
            };
        }
    }
    Cow::Borrowed(text)
}

/// The content of the last code fence.
fn fenced(text: &str) -> Option<&str> {
    let end = text.rfind("```")?;
    let start = text[..end].rfind("```")? + 3;
    let inside = &text[start..end];
    Some(inside.strip_prefix("json").unwrap_or(inside).trim())
}

/// The first balanced `{…}`; braces in strings do not count.
fn balanced(text: &str) -> Option<&str> {
    let start = text.find('{')?;
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in text.as_bytes()[start..].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(&text[start..=start + offset]);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
