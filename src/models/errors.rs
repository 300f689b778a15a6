//! What went wrong, from what a server says. Every error names the model it is about and never holds a key.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use roundtable_engine::model::ModelError;
use serde::Deserialize;
use serde_json::Value;

use crate::config::Secret;

const LONGEST_DETAIL: usize = 300;
const LONGEST_EXCERPT: usize = 80;

/// Who is called, as far as an error has to say it.
#[derive(Debug)]
pub(super) struct Callee {
    pub provider: String,
    pub base_url: String,
    /// What to check when the key is refused, as in `ANTHROPIC_API_KEY`.
    pub key_setting: String,
    /// Models can be fetched to it with `ollama pull`.
    pub is_ollama: bool,
    /// What must not appear in any error.
    pub secrets: Vec<Secret>,
}

/// An answer that is no success.
pub(super) struct Refusal<'a> {
    pub status: u16,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
    pub elapsed: Duration,
}

impl Callee {
    fn detail(&self, model: &str, text: &str) -> String {
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for secret in &self.secrets {
            // A very short one would blacken half the text, and is none.
            if secret.expose().len() > 3 {
                text = text.replace(secret.expose(), "***");
            }
        }
        format!("{}:{model}: {}", self.provider, cut(&text, LONGEST_DETAIL))
    }

    pub(super) fn refused(&self, model: &str, refusal: &Refusal<'_>) -> ModelError {
        let report = Report::of(refusal.body);
        let retry_after = retry_after(refusal.headers, SystemTime::now()).or(report.retry_after);
        self.judge(model, refusal.status, &report, retry_after, refusal.elapsed)
    }

    /// An error object in the middle of a stream, or with a status of success.
    pub(super) fn reported(&self, model: &str, frame: &[u8]) -> ModelError {
        let report = Report::of(frame);
        let status = report.implied_status();
        self.judge(model, status, &report, report.retry_after, Duration::ZERO)
    }

    fn judge(
        &self,
        model: &str,
        status: u16,
        report: &Report,
        retry_after: Option<Duration>,
        elapsed: Duration,
    ) -> ModelError {
        let said = if report.message.is_empty() {
            format!("status {status}")
        } else {
            report.message.clone()
        };
        let detail = || self.detail(model, &said);
        match status {
            400..500 if report.is_about_the_key() => self.unauthorized(model, &said),
            400..500 if report.is_about_the_model(status) => self.unknown_model(model, &said),
            401 | 403 => self.unauthorized(model, &said),
            413 => ModelError::TooLong { detail: detail() },
            400 | 422 if report.is_about_length() => ModelError::TooLong { detail: detail() },
            404 => ModelError::Rejected {
                status,
                detail: self.detail(
                    model,
                    &format!("{said}; is {} the right base_url?", self.base_url),
                ),
            },
            408 => ModelError::Timeout { after: elapsed },
            // Waiting does not fill an account.
            429 if report.kind.contains("insufficient_quota") => ModelError::Rejected {
                status,
                detail: detail(),
            },
            429 => ModelError::RateLimited {
                retry_after,
                detail: detail(),
            },
            500.. => ModelError::Server {
                status,
                retry_after,
                detail: detail(),
            },
            300..400 => ModelError::NotAModelServer {
                detail: self.detail(
                    model,
                    &format!(
                        "{} points elsewhere with status {status}; put the right address into base_url",
                        self.base_url
                    ),
                ),
            },
            _ => ModelError::Rejected {
                status,
                detail: detail(),
            },
        }
    }

    fn unauthorized(&self, model: &str, said: &str) -> ModelError {
        ModelError::Unauthorized {
            detail: self.detail(model, &format!("check {}; {said}", self.key_setting)),
        }
    }

    fn unknown_model(&self, model: &str, said: &str) -> ModelError {
        let remedy = if self.is_ollama {
            format!("; to get it: ollama pull {model}")
        } else {
            String::new()
        };
        ModelError::UnknownModel {
            detail: self.detail(model, &format!("{said}{remedy}")),
        }
    }

    pub(super) fn not_a_model_server(&self, model: &str, body: &[u8]) -> ModelError {
        let text = String::from_utf8_lossy(body);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!("{} answers: {}", self.base_url, cut(&text, LONGEST_EXCERPT));
        ModelError::NotAModelServer {
            detail: self.detail(model, &said),
        }
    }

    pub(super) fn interrupted(&self, model: &str, what: &str) -> ModelError {
        ModelError::Interrupted {
            detail: self.detail(model, what),
        }
    }

    /// The connection itself failed: before an answer, or within it.
    pub(super) fn broken(&self, model: &str, error: reqwest::Error, answered: bool) -> ModelError {
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        if answered {
            return self.interrupted(model, &cause.to_string());
        }
        ModelError::Unreachable {
            detail: self.detail(
                model,
                &format!("{cause}; is a server running at {}?", self.base_url),
            ),
        }
    }
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        text.to_owned()
    } else {
        text.chars().take(longest).chain(['…']).collect()
    }
}

/// What an error body says, whichever of the usual forms it has.
#[derive(Debug, Default, PartialEq)]
struct Report {
    message: String,
    /// Types and codes, in small letters.
    kind: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
}

#[derive(Deserialize)]
struct Envelope {
    error: Option<Value>,
    message: Option<Value>,
    detail: Option<Value>,
}

impl Report {
    fn of(body: &[u8]) -> Self {
        let plain = || Self {
            message: String::from_utf8_lossy(body).into_owned(),
            ..Self::default()
        };
        // Gemini wraps it in an array where it would have streamed one.
        let envelope = serde_json::from_slice::<Envelope>(body).ok().or_else(|| {
            let mut all: Vec<Envelope> = serde_json::from_slice(body).ok()?;
            (!all.is_empty()).then(|| all.swap_remove(0))
        });
        let Some(envelope) = envelope else {
            return plain();
        };
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        match envelope.error {
            Some(Value::Object(error)) => {
                let words = ["type", "code", "status"]
                    .iter()
                    .filter_map(|key| error.get(*key))
                    .map(|word| text(word).to_lowercase())
                    .collect::<Vec<_>>()
                    .join(" ");
                Self {
                    message: error.get("message").map(text).unwrap_or_default(),
                    kind: words,
                    status: error
                        .get("code")
                        .and_then(Value::as_u64)
                        .and_then(|code| u16::try_from(code).ok())
                        .filter(|code| (400..600).contains(code)),
                    retry_after: error.get("details").and_then(retry_delay),
                }
            }
            Some(other) => Self {
                message: text(&other),
                ..Self::default()
            },
            None => match envelope.message.or(envelope.detail) {
                Some(said) => Self {
                    message: text(&said),
                    ..Self::default()
                },
                None => plain(),
            },
        }
    }

    /// For reports without a status of their own.
    fn implied_status(&self) -> u16 {
        const KINDS: [(&str, u16); 12] = [
            ("rate_limit", 429),
            ("insufficient_quota", 429),
            ("resource_exhausted", 429),
            ("overloaded", 529),
            ("unavailable", 503),
            ("authentication", 401),
            ("permission", 403),
            ("not_found", 404),
            ("timeout", 408),
            ("request_too_large", 413),
            ("context_length", 400),
            ("invalid", 400),
        ];
        let message = self.message.to_lowercase();
        self.status.unwrap_or_else(|| {
            KINDS
                .iter()
                .find(|(kind, _)| self.kind.contains(kind))
                .map(|(_, status)| *status)
                .or_else(|| {
                    (message.contains("model") && message.contains("not found")).then_some(404)
                })
                .unwrap_or(500)
        })
    }

    fn is_about_the_key(&self) -> bool {
        let message = self.message.to_lowercase();
        message.contains("api key")
            && ["not valid", "invalid", "expired", "missing", "incorrect"]
                .iter()
                .any(|word| message.contains(word))
    }

    fn is_about_the_model(&self, status: u16) -> bool {
        let message = self.message.to_lowercase();
        let missing = [
            "not found",
            "not exist",
            "unknown model",
            "invalid model",
            "no such model",
        ]
        .iter()
        .any(|word| message.contains(word));
        match status {
            404 => message.contains("model") || self.kind.contains("model_not_found"),
            400 | 422 => missing && message.contains("model"),
            _ => self.kind.contains("model_not_found"),
        }
    }

    fn is_about_length(&self) -> bool {
        let message = self.message.to_lowercase();
        self.kind.contains("context_length")
            || self.kind.contains("exceed_context")
            || [
                "context length",
                "context window",
                "context size",
                "maximum context",
                "too long",
                "too many tokens",
                "input token count",
                "maximum number of tokens",
                "reduce the length",
            ]
            .iter()
            .any(|words| message.contains(words))
    }
}

/// Google's way to say it: `"retryDelay": "34s"` among the details.
fn retry_delay(details: &Value) -> Option<Duration> {
    details
        .as_array()?
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())
        .and_then(|text| text.strip_suffix('s'))
        .and_then(|seconds| seconds.parse().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// `retry-after-ms`, or `Retry-After` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let number = |name: &str| header(name)?.trim().parse::<f64>().ok();
    if let Some(milliseconds) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    if let Some(seconds) = number("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(header("retry-after")?).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
