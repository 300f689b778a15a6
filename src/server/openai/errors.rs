//! Errors in the shape that OpenAI's clients read.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::problem::Problem;
use crate::failure::Fault;

/// The body of every error response.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenAiError")]
pub(in crate::server) struct ErrorBody {
    error: ErrorDetail,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenAiErrorDetail")]
struct ErrorDetail {
    message: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// The part of the request that is wrong, such as `messages[0].content`.
    param: Option<String>,
    code: Option<String>,
    /// The debate concerned, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    debate_id: Option<String>,
}

/// OpenAI's clients repeat a request after most errors. After one that would start another debate they must not.
pub(super) const NO_RETRY: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-should-retry"),
    HeaderValue::from_static("false"),
);

pub(in crate::server) fn render(problem: &Problem) -> Response {
    let mut headers: HeaderMap = problem.headers().collect();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    let body = serde_json::to_vec(&body(problem)).unwrap_or_default();
    (status(problem), headers, body).into_response()
}

/// OpenAI's clients know 400 for an invalid request.
fn status(problem: &Problem) -> StatusCode {
    match problem.status() {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    }
}

pub(super) fn body(problem: &Problem) -> ErrorBody {
    let param = problem
        .faults()
        .first()
        .map(param)
        .filter(|param| !param.is_empty());
    ErrorBody {
        error: ErrorDetail {
            message: problem.messages().join("; "),
            kind: kind(problem),
            param,
            code: Some(code(problem.name())),
            debate_id: problem.debate().map(|id| id.to_string()),
        },
    }
}

fn kind(problem: &Problem) -> &'static str {
    match status(problem) {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS if problem.name() == "quota" => "insufficient_quota",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    }
}

/// OpenAI's own code where there is one.
fn code(name: &str) -> String {
    match name {
        "no-token" => "invalid_api_key".to_owned(),
        "quota" => "insufficient_quota".to_owned(),
        "too-many-requests" => "rate_limit_exceeded".to_owned(),
        name => name.replace('-', "_"),
    }
}

/// `/messages/0/content` as `messages[0].content`. The question is the last message.
fn param(fault: &Fault) -> String {
    let mut param = String::new();
    for part in fault.at.split('/').filter(|part| !part.is_empty()) {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            param.push_str(&format!("[{part}]"));
            continue;
        }
        if !param.is_empty() {
            param.push('.');
        }
        param.push_str(
            if param.is_empty() && matches!(part, "question" | "images") {
                "messages"
            } else {
                part
            },
        );
    }
    param
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b03_a_pointer_becomes_the_name_of_a_parameter() {
        for (at, expected) in [
            ("/messages/0/content", "messages[0].content"),
            ("/question", "messages"),
            ("/model", "model"),
            ("Idempotency-Key", "Idempotency-Key"),
            ("", ""),
        ] {
            assert_eq!(param(&Fault::new(at, "")), expected);
        }
    }

    #[test]
    fn b03_every_kind_of_problem_has_openais_type_and_code() {
        for (status, name, expected) in [
            (
                401,
                "no-token",
                ("authentication_error", "invalid_api_key", 401),
            ),
            (403, "scope", ("permission_error", "scope", 403)),
            (
                404,
                "model-not-found",
                ("invalid_request_error", "model_not_found", 404),
            ),
            (
                422,
                "invalid-request",
                ("invalid_request_error", "invalid_request", 400),
            ),
            (
                429,
                "quota",
                ("insufficient_quota", "insufficient_quota", 429),
            ),
            (
                429,
                "too-many-requests",
                ("rate_limit_error", "rate_limit_exceeded", 429),
            ),
            (503, "no-model", ("server_error", "no_model", 503)),
        ] {
            let problem = Problem::new(StatusCode::from_u16(status).unwrap(), name, "why");
            let error = body(&problem).error;
            let found = (
                error.kind,
                error.code.unwrap(),
                super::status(&problem).as_u16(),
            );
            assert_eq!((found.0, found.1.as_str(), found.2), expected);
        }
    }
}
