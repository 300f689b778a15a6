//! Circuit breaker (C-07): after repeated failures, calls to a provider fail immediately until a trial call succeeds.
//! All calls to one provider share its breaker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use roundtable_core::breaker::{Admission, Breaker, Settings};
use roundtable_engine::model::{Delta, Deltas, Model, ModelError, Request};
use tokio::time::Instant;

use super::delta_stream::{DeltaSource, Item, forward_capabilities, into_deltas};

/// The breaker of one provider, with the clock that it counts from.
pub(super) struct SharedBreaker {
    provider: String,
    breaker: Mutex<Breaker>,
    /// The last failure that counted, in a few words.
    last_failure: Mutex<String>,
    started: Instant,
}

impl SharedBreaker {
    pub(super) fn new(provider: &str, settings: Settings) -> Self {
        Self {
            provider: provider.to_owned(),
            breaker: Mutex::new(Breaker::new(settings)),
            last_failure: Mutex::default(),
            started: Instant::now(),
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Breaker, u64) -> T) -> T {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut breaker, now)
    }

    fn open_error(&self, rest_ms: u64) -> ModelError {
        let when = if rest_ms == 0 {
            "a trial call is in flight".to_owned()
        } else {
            format!("next attempt in {} s", rest_ms.div_ceil(1000))
        };
        let why = self.last_failure();
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(": {why}")
        };
        ModelError::BreakerOpen {
            detail: format!("{} keeps failing{why}; {when}", self.provider),
        }
    }

    fn last_failure(&self) -> MutexGuard<'_, String> {
        let last = self.last_failure.lock();
        last.unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct WithBreaker {
    pub inner: Arc<dyn Model>,
    pub breaker: Arc<SharedBreaker>,
}

impl Model for WithBreaker {
    fn stream(&self, request: Request) -> Deltas {
        let attempt = Attempt {
            inner: Arc::clone(&self.inner),
            request: Some(request),
            stream: None,
            ticket: Ticket {
                breaker: Arc::clone(&self.breaker),
                admitted: None,
            },
        };
        into_deltas(attempt)
    }

    forward_capabilities!(inner);
}

/// An admitted call whose outcome is not yet known. Dropping it reports the call as abandoned.
struct Ticket {
    breaker: Arc<SharedBreaker>,
    admitted: Option<Admission>,
}

impl Ticket {
    fn record_outcome(&mut self, error: Option<&ModelError>) {
        let Some(admitted) = self.admitted.take() else {
            return;
        };
        if let Some(error) = error.filter(|error| counts_as_failure(error)) {
            // The details name one model and one address; other calls to the provider fail for the same reason.
            let text = error.to_string();
            let short = text.split([';', '(']).next().unwrap_or_default();
            short.trim().clone_into(&mut self.breaker.last_failure());
        }
        self.breaker.with(|breaker, now| match error {
            Some(error) if counts_as_failure(error) => breaker.failed(admitted, now),
            Some(_) | None => breaker.answered(admitted),
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(admitted) = self.admitted.take() {
            self.breaker
                .with(|breaker, now| breaker.abandoned(admitted, now));
        }
    }
}

/// A server that rejects or rate-limits a request is up.
fn counts_as_failure(error: &ModelError) -> bool {
    match error {
        ModelError::Server { .. }
        | ModelError::Timeout { .. }
        | ModelError::Unreachable { .. }
        | ModelError::Interrupted { .. }
        | ModelError::Program { .. } => true,
        ModelError::RateLimited { .. }
        | ModelError::Unauthorized { .. }
        | ModelError::UnknownModel { .. }
        | ModelError::TooLong { .. }
        | ModelError::Rejected { .. }
        | ModelError::NotAModelServer { .. }
        | ModelError::BreakerOpen { .. }
        | ModelError::Local { .. }
        | ModelError::ProgramMissing { .. }
        | ModelError::Login { .. }
        | ModelError::Unpriced { .. } => false,
    }
}

struct Attempt {
    inner: Arc<dyn Model>,
    request: Option<Request>,
    stream: Option<Deltas>,
    ticket: Ticket,
}

impl DeltaSource for Attempt {
    async fn next(&mut self) -> Option<Item> {
        if let Some(request) = self.request.take() {
            let admitted = self.ticket.breaker.with(Breaker::admit);
            if let Admission::Refused { rest_ms } = admitted {
                return Some(Err(self.ticket.breaker.open_error(rest_ms)));
            }
            self.ticket.admitted = Some(admitted);
            self.stream = Some(self.inner.stream(request));
        }
        let item = self.stream.as_mut()?.next().await?;
        match &item {
            Ok(Delta::Finish(_)) => self.ticket.record_outcome(None),
            Err(error) => self.ticket.record_outcome(Some(error)),
            Ok(_) => {}
        }
        Some(item)
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
