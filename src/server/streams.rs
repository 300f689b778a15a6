//! Limits on event streams: how many are open, and how long a stream may continue after its token, session or debate is gone.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use uuid::Uuid;

use super::App;
use super::access::{Caller, Credential};
use super::problem::Problem;

#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamLimits {
    pub total: usize,
    pub per_token: usize,
    /// How often the caller and the debate of a stream are checked again.
    pub check_interval: Duration,
}

pub(crate) struct Streams {
    limits: StreamLimits,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Open {
    total: usize,
    by_token: HashMap<Uuid, usize>,
}

/// One of the permitted streams, until it is dropped.
struct Slot {
    open: Arc<Mutex<Open>>,
    token: Option<Uuid>,
}

/// Held by a stream as long as it is open.
pub(super) struct StreamGuard {
    _slot: Slot,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

const RETRY_AFTER: HeaderValue = HeaderValue::from_static("30");

impl Streams {
    pub(super) fn new(limits: StreamLimits) -> Self {
        Self {
            limits,
            open: Arc::default(),
        }
    }

    fn take(&self, token: Option<Uuid>) -> Result<Slot, Problem> {
        let mut open = lock(&self.open);
        if open.total >= self.limits.total {
            return Err(too_many(
                StatusCode::SERVICE_UNAVAILABLE,
                "the server has too many open event streams; retry later",
            ));
        }
        if let Some(token) = token {
            let of_token = open.by_token.entry(token).or_default();
            if *of_token >= self.limits.per_token {
                return Err(too_many(
                    StatusCode::TOO_MANY_REQUESTS,
                    "this token has too many open event streams; close some, or retry later",
                ));
            }
            *of_token += 1;
        }
        open.total += 1;
        Ok(Slot {
            open: Arc::clone(&self.open),
            token,
        })
    }
}

fn too_many(status: StatusCode, detail: &str) -> Problem {
    Problem::new(status, "too-many-streams", detail).with(header::RETRY_AFTER, RETRY_AFTER)
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        open.total -= 1;
        if let Some(token) = self.token
            && let Some(count) = open.by_token.get_mut(&token)
        {
            *count -= 1;
            if *count == 0 {
                open.by_token.remove(&token);
            }
        }
    }
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StreamGuard {
    /// Takes a slot for a stream of this debate.
    pub(super) fn open(
        app: &Arc<App>,
        caller: &Caller,
        credential: Credential,
        debate: Uuid,
    ) -> Result<Self, Problem> {
        let slot = app.streams.take(caller.token)?;
        let app = Arc::clone(app);
        let ended = async move {
            loop {
                tokio::time::sleep(app.streams.limits.check_interval).await;
                if !may_go_on(&app, credential, debate).await {
                    return;
                }
            }
        };
        Ok(Self {
            _slot: slot,
            ended: Box::pin(ended),
        })
    }

    /// Completes when the stream must end.
    pub(super) async fn ended(&mut self) {
        self.ended.as_mut().await;
    }
}

/// Whether the caller still has access and the debate still exists. A store error ends the stream; the client reconnects.
async fn may_go_on(app: &App, credential: Credential, debate: Uuid) -> bool {
    let caller = app.access.verify(credential).await;
    caller.is_ok_and(|caller| caller.is_some())
        && app.store.get(debate).await.is_ok_and(|row| row.is_some())
}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
