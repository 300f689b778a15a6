//! Errors as programs read them: `application/problem+json` (RFC 9457), for everything that can go wrong.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::log;
use super::scheduler::{Full, Unable};
use crate::failure::{Code, Failure, Fault};
use crate::store::{LeaseError, StoreError};

/// Why a request was not met. It becomes a body when the id of its request is known.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    name: &'static str,
    detail: String,
    faults: Vec<Fault>,
    debate: Option<Uuid>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The body of every answer that is an error.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProblemBody {
    /// Names the sort of problem, for programs: `urn:roundtable:problem:queue-full`.
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    /// What happened and what to do about it, for people.
    detail: String,
    /// Everything that is wrong with the request, where it can be told in parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    faults: Vec<FaultBody>,
    /// The debate it is about, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    debate_id: Option<String>,
    /// Also in the header `x-request-id`, and in the server's log.
    request_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FaultBody {
    /// A JSON pointer into the request's body, or the name of a parameter.
    at: String,
    message: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            name,
            detail: detail.into(),
            faults: Vec::new(),
            debate: None,
            headers: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The debate it is about goes with it.
    pub(crate) fn about(mut self, debate: Uuid) -> Self {
        self.debate = Some(debate);
        self
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", what)
    }

    /// A request that cannot be met as it is written.
    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        let detail = match faults.as_slice() {
            [one] => one.message.clone(),
            several => format!("{} things are wrong with this request", several.len()),
        };
        Self {
            faults,
            ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-request", detail)
        }
    }

    /// Something of ours failed. What exactly is for the log, not for whoever asked.
    pub(crate) fn internal(cause: &str) -> Self {
        log::note(&format!("a request failed: {cause}"));
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the server could not do this; its log says why",
        )
    }

    /// The store is full, locked or away. Why exactly is for the log; whoever asked may come back.
    pub(crate) fn store_away(cause: &str) -> Self {
        log::note(&format!("a request found no store: {cause}"));
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store-unavailable",
            "debates cannot be read or written just now; what was saved is intact, try again later",
        )
        .with(header::RETRY_AFTER, HeaderValue::from_static("5"))
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Everything that is wrong, for people.
    pub(crate) fn messages(&self) -> Vec<String> {
        if self.faults.is_empty() {
            return vec![self.detail.clone()];
        }
        self.faults.iter().map(|it| it.message.clone()).collect()
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    #[cfg(test)]
    pub(super) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(super) fn render(&self, request_id: &str) -> Response {
        let faults = self.faults.iter().map(|fault| FaultBody {
            at: fault.at.clone(),
            message: fault.message.clone(),
        });
        let body = ProblemBody {
            kind: format!("urn:roundtable:problem:{}", self.name),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            faults: faults.collect(),
            debate_id: self.debate.map(|id| id.to_string()),
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
            "as many debates run and wait here as may; try again later",
        )
        .with(header::RETRY_AFTER, HeaderValue::from_static("10"))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if error.is_transient() {
            Self::store_away(&error.to_string())
        } else {
            Self::internal(&error.to_string())
        }
    }
}

impl From<LeaseError> for Problem {
    fn from(error: LeaseError) -> Self {
        Unable::from(error).into()
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        if failure.is_transient() {
            return Self::store_away(failure.message());
        }
        match failure.code() {
            Code::Usage if failure.faults().is_empty() => {
                Self::invalid(vec![Fault::new("", failure.message())])
            }
            Code::Usage => Self::invalid(failure.faults().to_vec()),
            Code::NoModel => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "no-model",
                failure.message(),
            )
            .with(header::RETRY_AFTER, HeaderValue::from_static("60")),
            Code::Other | Code::Partial | Code::Budget | Code::Interrupted => {
                Self::internal(failure.message())
            }
        }
    }
}

impl From<Unable> for Problem {
    fn from(unable: Unable) -> Self {
        let text = unable.to_string();
        match unable {
            Unable::NotFound(_) => Self::not_found(&text),
            Unable::State(state, _) => Self::new(
                StatusCode::CONFLICT,
                "wrong-state",
                format!("{text} (it is {})", state.name()),
            ),
            Unable::Elsewhere => Self::new(StatusCode::CONFLICT, "running-elsewhere", text),
            Unable::Full => Full.into(),
            Unable::Choice(_) => Self::invalid(vec![Fault::new("/choice", text)]),
            Unable::Failed(failure) => failure.into(),
        }
    }
}
