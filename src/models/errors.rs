//! Maps error responses and connection errors to `ModelError`. Every error names its model and never contains a key.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use roundtable_core::characters::is_deceptive;
use roundtable_engine::model::ModelError;
use serde::Deserialize;
use serde_json::Value;

use crate::config::Secret;

const MAX_DETAIL: usize = 300;
const MAX_EXCERPT: usize = 80;

/// The provider as error messages describe it.
#[derive(Debug)]
pub(super) struct ErrorContext {
    pub provider: String,
    /// For messages.
    pub address: String,
    /// The setting to check when the key is refused, such as `ANTHROPIC_API_KEY`.
    pub key_setting: String,
    /// Missing models can be installed with `ollama pull`.
    pub is_ollama: bool,
    /// Masked in every message.
    pub secrets: Vec<Secret>,
}

/// A response without a success status.
pub(super) struct ErrorResponse<'a> {
    pub status: u16,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}

impl ErrorContext {
    pub(super) fn detail(&self, model: &str, text: &str) -> String {
        // A server's words must not move the cursor or write to the clipboard of a terminal.
        let harmless =
            |text: &str| -> String { text.chars().filter(|c| !is_deceptive(*c)).collect() };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (mut text, model) = (harmless(&text), harmless(model));
        for secret in &self.secrets {
            // Masking a very short value would hide half of the text, and no key is that short.
            if secret.expose().len() > 3 {
                text = text.replace(secret.expose(), "***");
            }
        }
        format!("{}:{model}: {}", self.provider, truncate(&text, MAX_DETAIL))
    }

    pub(super) fn response_error(&self, model: &str, response: &ErrorResponse<'_>) -> ModelError {
        let report = ErrorReport::parse(response.body);
        let retry_after = retry_after(response.headers, SystemTime::now()).or(report.retry_after);
        self.classify(model, response.status, &report, retry_after)
    }

    /// An error object within a stream, or with a success status.
    pub(super) fn reported_error(&self, model: &str, frame: &[u8]) -> ModelError {
        let report = ErrorReport::parse(frame);
        let status = report.implied_status();
        self.classify(model, status, &report, report.retry_after)
    }

    fn classify(
        &self,
        model: &str,
        status: u16,
        report: &ErrorReport,
        retry_after: Option<Duration>,
    ) -> ModelError {
        let message = if report.message.is_empty() {
            format!("status {status}")
        } else {
            report.message.clone()
        };
        let detail = || self.detail(model, &message);
        match status {
            400..500 if report.is_about_the_key() => self.unauthorized(model, &message),
            400..500 if report.is_about_the_model(status) => self.unknown_model(model, &message),
            401 | 403 => self.unauthorized(model, &message),
            413 => ModelError::TooLong { detail: detail() },
            400 | 422 if report.is_about_length() => ModelError::TooLong { detail: detail() },
            404 => ModelError::Rejected {
                status,
                detail: self.detail(
                    model,
                    &format!("{message}; is {} the right base_url?", self.address),
                ),
            },
            // An empty account does not refill while we wait.
            429 if report.kind.contains("insufficient_quota") => ModelError::Rejected {
                status,
                detail: detail(),
            },
            429 => ModelError::RateLimited {
                retry_after,
                detail: detail(),
            },
            200 | 408 | 500.. => ModelError::Server {
                status,
                retry_after,
                detail: detail(),
            },
            300..400 => ModelError::NotAModelServer {
                detail: self.detail(
                    model,
                    &format!(
                        "{} redirects with status {status}; correct base_url",
                        self.address
                    ),
                ),
            },
            _ => ModelError::Rejected {
                status,
                detail: detail(),
            },
        }
    }

    fn unauthorized(&self, model: &str, message: &str) -> ModelError {
        ModelError::Unauthorized {
            detail: self.detail(model, &format!("check {}; {message}", self.key_setting)),
        }
    }

    fn unknown_model(&self, model: &str, message: &str) -> ModelError {
        let remedy = if self.is_ollama {
            format!("; to get it: ollama pull {model}")
        } else {
            String::new()
        };
        ModelError::UnknownModel {
            detail: self.detail(model, &format!("{message}{remedy}")),
        }
    }

    pub(super) fn not_a_model_server(&self, model: &str, body: &[u8]) -> ModelError {
        let text = String::from_utf8_lossy(body);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let excerpt = format!("{} answers: {}", self.address, truncate(&text, MAX_EXCERPT));
        ModelError::NotAModelServer {
            detail: self.detail(model, &excerpt),
        }
    }

    pub(super) fn interrupted(&self, model: &str, reason: &str) -> ModelError {
        ModelError::Interrupted {
            detail: self.detail(model, reason),
        }
    }

    /// The connection failed, before or within the response.
    pub(super) fn connection_error(
        &self,
        model: &str,
        error: reqwest::Error,
        responded: bool,
    ) -> ModelError {
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        if responded {
            return self.interrupted(model, &cause.to_string());
        }
        ModelError::Unreachable {
            detail: self.detail(
                model,
                &format!("{cause}; is a server running at {}?", self.address),
            ),
        }
    }
}

fn truncate(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        text.to_owned()
    } else {
        text.chars().take(max_chars).chain(['…']).collect()
    }
}

/// The content of an error body, in any of the usual formats.
#[derive(Debug, Default, PartialEq)]
struct ErrorReport {
    message: String,
    /// Types and codes, in lower case.
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

impl ErrorReport {
    fn parse(body: &[u8]) -> Self {
        let plain = || Self {
            message: String::from_utf8_lossy(body).into_owned(),
            ..Self::default()
        };
        // Gemini wraps the error of a streaming call in an array.
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
                let kind = ["type", "code", "status"]
                    .iter()
                    .filter_map(|key| error.get(*key))
                    .map(|word| text(word).to_lowercase())
                    .collect::<Vec<_>>()
                    .join(" ");
                Self {
                    message: error.get("message").map(text).unwrap_or_default(),
                    kind,
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
                Some(message) => Self {
                    message: text(&message),
                    ..Self::default()
                },
                None => plain(),
            },
        }
    }

    /// The status that matches the report, if it contains none; 200 if nothing in it indicates one.
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
        let by_kind = || KINDS.iter().find(|(kind, _)| self.kind.contains(kind));
        let is_missing = || self.says_any(&["model"]) && self.says_any(&["not found"]);
        self.status
            .or_else(|| by_kind().map(|(_, status)| *status))
            .unwrap_or_else(|| if is_missing() { 404 } else { 200 })
    }

    fn says_any(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|words| message.contains(words))
    }

    fn is_about_the_key(&self) -> bool {
        let faults = ["not valid", "invalid", "expired", "missing", "incorrect"];
        self.says_any(&["api key"]) && self.says_any(&faults)
    }

    fn is_about_the_model(&self, status: u16) -> bool {
        let is_named = self.says_any(&["model"]);
        let is_not_found = self.kind.contains("model_not_found");
        let missing = [
            "not found",
            "not exist",
            "unknown model",
            "invalid model",
            "no such model",
        ];
        match status {
            404 => is_named || is_not_found,
            400 | 422 => is_named && self.says_any(&missing),
            _ => is_not_found,
        }
    }

    fn is_about_length(&self) -> bool {
        self.kind.contains("context_length")
            || self.kind.contains("exceed_context")
            || self.says_any(&[
                "context length",
                "context window",
                "context size",
                "maximum context",
                "too long",
                "too many tokens",
                "input token count",
                "maximum number of tokens",
                "reduce the length",
            ])
    }
}

/// Google's format: `"retryDelay": "34s"` among the details.
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
#[path = "errors_tests.rs"]
mod tests;
