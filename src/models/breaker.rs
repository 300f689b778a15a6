//! A provider that is dead costs its timeouts only so often (C-07): then calls to it fail at once, until one that is let
//! through shows that it is back. All calls to one provider share its breaker.

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use roundtable_core::breaker::{Admission, Breaker, Settings};
use roundtable_engine::model::{Delta, Deltas, Model, ModelError, Profile, Request};
use tokio::time::Instant;

use super::delta_stream::{Item, Source, drawn_from};

/// The breaker of one provider.
pub(super) struct SharedBreaker {
    provider: String,
    breaker: Mutex<Breaker>,
    began: Instant,
}

impl SharedBreaker {
    pub(super) fn new(provider: &str, settings: Settings) -> Self {
        Self {
            provider: provider.to_owned(),
            breaker: Mutex::new(Breaker::new(settings)),
            began: Instant::now(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn with<T>(&self, change: impl FnOnce(&mut Breaker, u64) -> T) -> T {
        let now = self.now();
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut breaker, now)
    }

    fn refusal(&self, rest_ms: u64) -> ModelError {
        let when = if rest_ms == 0 {
            "it is being tried".to_owned()
        } else {
            format!("it is tried again in {} s", rest_ms.div_ceil(1000))
        };
        ModelError::LeftAlone {
            detail: format!("{} failed again and again; {when}", self.provider),
        }
    }
}

/// A model whose attempts go through the breaker of its provider.
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
            over: false,
        };
        drawn_from(attempt)
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    fn sees(&self) -> bool {
        self.inner.sees()
    }

    fn calls_tools(&self) -> bool {
        self.inner.calls_tools()
    }
}

/// What was let through and has not shown its outcome. Dropped, it was given up.
struct Ticket {
    breaker: Arc<SharedBreaker>,
    admitted: Option<Admission>,
}

impl Ticket {
    fn settle(&mut self, error: Option<&ModelError>) {
        let Some(admitted) = self.admitted.take() else {
            return;
        };
        self.breaker.with(|breaker, now| match error {
            Some(error) if shows_death(error) => breaker.failed(admitted, now),
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

/// A server that refuses, limits or misunderstands is alive.
fn shows_death(error: &ModelError) -> bool {
    match error {
        ModelError::Server { .. }
        | ModelError::Timeout { .. }
        | ModelError::Unreachable { .. }
        | ModelError::Interrupted { .. } => true,
        ModelError::RateLimited { .. }
        | ModelError::Unauthorized { .. }
        | ModelError::UnknownModel { .. }
        | ModelError::TooLong { .. }
        | ModelError::Rejected { .. }
        | ModelError::NotAModelServer { .. }
        | ModelError::LeftAlone { .. }
        | ModelError::Local { .. } => false,
    }
}

struct Attempt {
    inner: Arc<dyn Model>,
    request: Option<Request>,
    stream: Option<Deltas>,
    ticket: Ticket,
    over: bool,
}

impl Source for Attempt {
    async fn next(&mut self) -> Option<Item> {
        if self.over {
            return None;
        }
        if let Some(request) = self.request.take() {
            let admitted = self.ticket.breaker.with(Breaker::admit);
            if let Admission::Refused { rest_ms } = admitted {
                self.over = true;
                return Some(Err(self.ticket.breaker.refusal(rest_ms)));
            }
            self.ticket.admitted = Some(admitted);
            self.stream = Some(self.inner.stream(request));
        }
        let item = self.stream.as_mut()?.next().await?;
        match &item {
            Ok(Delta::Finish(_)) => {
                self.ticket.settle(None);
                self.over = true;
            }
            Err(error) => {
                self.ticket.settle(Some(error));
                self.over = true;
            }
            Ok(_) => {}
        }
        Some(item)
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
