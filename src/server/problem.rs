//! Error responses: `application/problem+json` (RFC 9457) for every error.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::log;
use super::quota::QuotaState;
use super::scheduler::{Full, SchedulerError};
use crate::failure::{Code, Failure, Fault};
use crate::store::{LeaseError, StoreError};

/// An error response. The middleware renders it when the request id is known.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    name: &'static str,
    detail: String,
    faults: Vec<Fault>,
    debate: Option<Uuid>,
    quota: Option<Box<QuotaState>>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The body of every error response.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProblemBody {
    /// Machine-readable problem type, such as `urn:roundtable:problem:queue-full`.
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    /// Human-readable: what happened and what to do about it.
    detail: String,
    /// All validation errors of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    faults: Vec<FaultBody>,
    /// The debate concerned, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    debate_id: Option<String>,
    /// The usage of the token, if its limits are the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<QuotaState>,
    /// Also in the header `x-request-id`, in the server's log and in the audit log.
    request_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FaultBody {
    /// JSON pointer into the request body, or the name of a parameter.
    at: String,
    message: String,
}

/// An error must not send a large request back.
const MAX_FAULTS: usize = 100;
const MAX_TEXT: usize = 2000;

fn bounded(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Problem {
    pub(crate) fn new(status: StatusCode, name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            name,
            detail: detail.into(),
            faults: Vec::new(),
            debate: None,
            quota: None,
            headers: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The same problem for a client whose body is what the request has at `pointer`.
    pub(crate) fn relative_to(mut self, pointer: &str) -> Self {
        for fault in &mut self.faults {
            if let Some(rest) = fault.at.strip_prefix(pointer) {
                fault.at = rest.to_owned();
            }
        }
        self
    }

    /// Adds the id of the debate concerned.
    pub(crate) fn about(mut self, debate: Uuid) -> Self {
        self.debate = Some(debate);
        self
    }

    pub(super) fn with_quota(mut self, quota: QuotaState) -> Self {
        self.quota = Some(Box::new(quota));
        self
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", what)
    }

    /// A request that fails validation.
    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        let detail = match faults.as_slice() {
            [one] => one.message.clone(),
            several => format!("the request has {} errors", several.len()),
        };
        Self {
            faults,
            ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-request", detail)
        }
    }

    /// A request with one invalid value.
    pub(crate) fn invalid_at(at: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![Fault::new(at, message)])
    }

    /// The cause goes to the log only, not to the client.
    pub(crate) fn internal(cause: &str) -> Self {
        log::note(&format!("request failed: {cause}"));
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "internal server error; the server log has the cause under the request id",
        )
    }

    /// The store is full, locked or unreachable. The cause goes to the log only.
    pub(crate) fn store_unavailable(cause: &str) -> Self {
        log::note(&format!("request failed: store unavailable: {cause}"));
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store-unavailable",
            "the database is unavailable; saved debates are intact, retry later",
        )
        .with(header::RETRY_AFTER, HeaderValue::from_static("5"))
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// One message per validation error, or the detail.
    pub(crate) fn messages(&self) -> Vec<String> {
        if self.faults.is_empty() {
            return vec![self.detail.clone()];
        }
        let faults = self.faults.iter().take(MAX_FAULTS);
        faults.map(|fault| bounded(&fault.message)).collect()
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn debate(&self) -> Option<Uuid> {
        self.debate
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.headers.iter().cloned()
    }

    /// The same problem with another status and name.
    pub(super) fn renamed(self, status: StatusCode, name: &'static str) -> Self {
        Self {
            status,
            name,
            ..self
        }
    }

    pub(super) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(super) fn render(&self, request_id: &str) -> Response {
        let faults = self.faults.iter().take(MAX_FAULTS).map(|fault| FaultBody {
            at: bounded(&fault.at),
            message: bounded(&fault.message),
        });
        let body = ProblemBody {
            kind: format!("urn:roundtable:problem:{}", self.name),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            detail: bounded(&self.detail),
            faults: faults.collect(),
            debate_id: self.debate.map(|id| id.to_string()),
            quota: self.quota.as_deref().cloned(),
            request_id: request_id.to_owned(),
        };
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.extend(self.headers.iter().cloned());
        let body = serde_json::to_vec(&body).unwrap_or_default();
        (self.status, headers, body).into_response()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Full> for Problem {
    fn from(_: Full) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "queue-full",
            "the server is at capacity; retry later",
        )
        .with(header::RETRY_AFTER, HeaderValue::from_static("10"))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if error.is_transient() {
            Self::store_unavailable(&error.to_string())
        } else {
            Self::internal(&error.to_string())
        }
    }
}

impl From<LeaseError> for Problem {
    fn from(error: LeaseError) -> Self {
        SchedulerError::from(error).into()
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        if failure.is_transient() {
            return Self::store_unavailable(failure.message());
        }
        if failure.is_forbidden() {
            let message = failure.message();
            return Self::new(StatusCode::FORBIDDEN, "model-not-allowed", message);
        }
        match failure.code() {
            Code::Usage if failure.faults().is_empty() => Self::invalid_at("", failure.message()),
            Code::Usage => Self::invalid(failure.faults().to_vec()),
            Code::NoModel => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "no-model",
                failure.message(),
            )
            .with(header::RETRY_AFTER, HeaderValue::from_static("60")),
            Code::Other | Code::Partial | Code::Budget | Code::Waiting | Code::Interrupted => {
                Self::internal(failure.message())
            }
        }
    }
}

impl From<SchedulerError> for Problem {
    fn from(error: SchedulerError) -> Self {
        let text = error.to_string();
        match error {
            SchedulerError::NotFound(_) => Self::not_found(&text),
            SchedulerError::WrongState(state, _) => Self::new(
                StatusCode::CONFLICT,
                "wrong-state",
                format!("{text} (state: {})", state.name()),
            ),
            SchedulerError::RunningElsewhere => {
                Self::new(StatusCode::CONFLICT, "running-elsewhere", text)
            }
            SchedulerError::Full => Full.into(),
            SchedulerError::InvalidChoice(_) => Self::invalid_at("/choice", text),
            SchedulerError::Failed(failure) => failure.into(),
        }
    }
}
