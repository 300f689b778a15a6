//! Records requests in the audit log. The outermost middleware: it also gives every request its id, which all log lines of the
//! request carry.
//!
//! The recorded action of a route is declared in the route table. A recorded request runs to its end even if the client disconnects. Its
//! start is recorded once the caller is known and before anything is changed; if that fails, it is refused. Refused requests are
//! recorded at a limited rate, so that a client cannot flood the log.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use percent_encoding::percent_decode_str;

use super::App;
use super::access::{self, Caller};
use super::log;
use super::problem::Problem;
use crate::clock;
use crate::store::{AuditOutcome, AuditRecord, Store, Via};

/// A handler's additions to the record of its request, in the response's extensions.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditNote {
    /// Instead of the route's action.
    pub action: Option<&'static str>,
    /// Replaces the outcome that follows from the status.
    pub outcome: Option<AuditOutcome>,
    /// Instead of the caller.
    pub who: Option<String>,
    /// Instead of the path's parameter.
    pub subject: Option<String>,
    pub detail: Option<String>,
}

impl AuditNote {
    pub(crate) fn detail(text: impl Into<String>) -> Self {
        Self {
            detail: Some(text.into()),
            ..Self::default()
        }
    }
}

/// Refused requests in a burst, and per second after it.
const MAX_REFUSED: f64 = 100.0;
const REFUSED_PER_SECOND: f64 = 0.2;

/// Writes the audit log of a server.
pub(crate) struct Auditor {
    store: Store,
    /// Separate, so that refusals of one kind cannot hide those of the other.
    sign_ins: Mutex<Bound>,
    others: Mutex<Bound>,
}

/// A token bucket that counts what it has not let through.
struct Bound {
    left: f64,
    updated_at: Instant,
    skipped: u64,
}

impl Bound {
    fn full() -> Self {
        Self {
            left: MAX_REFUSED,
            updated_at: Instant::now(),
            skipped: 0,
        }
    }

    /// The number of records skipped before this one; `None` to skip this one too.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        let passed = now.duration_since(self.updated_at).as_secs_f64();
        self.left = (self.left + passed * REFUSED_PER_SECOND).min(MAX_REFUSED);
        self.updated_at = now;
        if self.left < 1.0 {
            self.skipped += 1;
            return None;
        }
        self.left -= 1.0;
        Some(std::mem::take(&mut self.skipped))
    }
}

impl Auditor {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            sign_ins: Mutex::new(Bound::full()),
            others: Mutex::new(Bound::full()),
        }
    }

    /// Records that a request starts the action of its route.
    pub(super) async fn begin(
        &self,
        received: &Received,
        who: Option<String>,
        via: Via,
    ) -> Result<(), Problem> {
        match received.action {
            Some(action) => self.begin_as(action, received, who, via).await.map(drop),
            None => Ok(()),
        }
    }

    /// Records that a request starts an action. Returns the record, for its outcome.
    pub(super) async fn begin_as(
        &self,
        action: &'static str,
        received: &Received,
        who: Option<String>,
        via: Via,
    ) -> Result<AuditRecord, Problem> {
        let record = AuditRecord {
            at: clock::now(),
            who,
            via,
            action: action.to_owned(),
            subject: received.subject.clone(),
            outcome: AuditOutcome::Started,
            address: Some(received.address.to_string()),
            request_id: Some(received.id.clone()),
            detail: None,
        };
        let written = self.store.append_audit(&record).await;
        written.map_err(|error| {
            log::note(&format!("cannot write the audit log: {error}"));
            let detail = "cannot write the audit log, so nothing was changed; retry later";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", detail)
        })?;
        Ok(record)
    }

    pub(super) async fn record(&self, mut record: AuditRecord) {
        if matches!(record.outcome, AuditOutcome::Refused | AuditOutcome::Failed) {
            let bound = if record.via == Via::Nobody {
                &self.sign_ins
            } else {
                &self.others
            };
            let mut bound = bound.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(skipped) = bound.admit(Instant::now()) else {
                return;
            };
            if skipped > 0 {
                let detail = record.detail.unwrap_or_default();
                let detail =
                    format!("{detail}; {skipped} refused requests before it were not recorded");
                record.detail = Some(detail.trim_start_matches("; ").to_owned());
            }
        }
        if let Err(error) = self.store.append_audit(&record).await {
            let who = record.who.as_deref().unwrap_or("-");
            let subject = record.subject.as_deref().unwrap_or("-");
            log::note(&format!(
                "cannot write the audit log: {error}; {} of {subject} by {who}: {}",
                record.action,
                record.outcome.name()
            ));
        }
    }
}

/// The known properties of a request before it is handled.
#[derive(Debug, Clone)]
pub(super) struct Received {
    action: Option<&'static str>,
    subject: Option<String>,
    address: IpAddr,
    id: String,
    has_token: bool,
}

pub(super) async fn record(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = access::assign_request_id(request.headers_mut());
    let received = Received {
        action: app.rules.of(&request).action,
        subject: subject(&request),
        address: app.access.client(&request).address,
        id: id.clone(),
        has_token: request.headers().contains_key(header::AUTHORIZATION),
    };
    let is_recorded = received.action.is_some();
    request.extensions_mut().insert(received.clone());
    let auditing = Arc::clone(&app);
    let handled = log::with_request(id.clone(), async move {
        let response = next.run(request).await;
        if let Some(record) = received.record(&response) {
            auditing.auditor.record(record).await;
        }
        response
    });
    if !is_recorded {
        return handled.await;
    }
    // In a task, because the server drops a request whose client disconnects.
    match app.scheduler.tasks().spawn(handled).await {
        Ok(response) => response,
        Err(error) => Problem::internal(&error.to_string()).render(&id),
    }
}

impl Received {
    fn record(self, response: &Response) -> Option<AuditRecord> {
        let status = response.status();
        let note = response.extensions().get::<AuditNote>().cloned();
        let note = note.unwrap_or_default();
        let caller = response.extensions().get::<Caller>();
        let is_bad_token = status == StatusCode::UNAUTHORIZED && self.has_token;
        let action = note.action.or(self.action);
        let action = action.or_else(|| is_bad_token.then_some("token-refused"))?;
        let outcome = note.outcome.unwrap_or(if status.is_server_error() {
            AuditOutcome::Failed
        } else if status.is_client_error() {
            AuditOutcome::Refused
        } else {
            AuditOutcome::Done
        });
        let status_text = (outcome != AuditOutcome::Done).then(|| status.to_string());
        let via = match caller {
            Some(caller) => caller.via(),
            None if note.who.is_some() => Via::Token,
            None => Via::Nobody,
        };
        Some(AuditRecord {
            at: clock::now(),
            who: note
                .who
                .or_else(|| caller.and_then(|caller| caller.name.clone())),
            via,
            action: action.to_owned(),
            subject: note.subject.or(self.subject),
            outcome,
            address: Some(self.address.to_string()),
            request_id: Some(self.id),
            detail: note.detail.or(status_text),
        })
    }
}

/// The first parameter of the path: the id of a debate, or the name of a token.
fn subject(request: &Request) -> Option<String> {
    let path = request.extensions().get::<MatchedPath>()?;
    let mut segments = path
        .as_str()
        .split('/')
        .zip(request.uri().path().split('/'));
    let (_, value) = segments.find(|(declared, _)| declared.starts_with('{'))?;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
