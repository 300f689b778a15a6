//! Retries of transient errors (C-07), with exponential backoff and jitter, or after the server's `Retry-After`.

use std::sync::Arc;
use std::time::Duration;

use roundtable_engine::model::{Delta, Deltas, Model, ModelError, Request};

use super::delta_stream::{
    DeltaSource, Item, forward_capabilities, into_deltas, next_or_interrupted,
};
use crate::config::Retry;
use crate::format::grouped;

/// Makes up to `policy.attempts` attempts. [`Delta::Restart`] before each retry discards the text so far.
pub(super) struct WithRetry {
    pub inner: Arc<dyn Model>,
    pub policy: Retry,
}

impl Model for WithRetry {
    fn stream(&self, request: Request) -> Deltas {
        let call = Call {
            inner: Arc::clone(&self.inner),
            policy: self.policy,
            request,
            stream: None,
            failed: 0,
            backoff: None,
        };
        into_deltas(call)
    }

    forward_capabilities!(inner);
}

struct Call {
    inner: Arc<dyn Model>,
    policy: Retry,
    request: Request,
    stream: Option<Deltas>,
    failed: u32,
    backoff: Option<Duration>,
}

impl DeltaSource for Call {
    async fn next(&mut self) -> Option<Item> {
        if let Some(backoff) = self.backoff.take() {
            tokio::time::sleep(backoff).await;
        }
        let stream = self
            .stream
            .get_or_insert_with(|| self.inner.stream(self.request.clone()));
        let error = match next_or_interrupted(stream).await {
            Ok(delta) => return Some(Ok(delta)),
            Err(error) => error,
        };
        // Dropped before the backoff, to release the concurrency permit.
        self.stream = None;
        self.failed += 1;
        self.backoff = backoff(&self.policy, self.failed, &error);
        Some(match self.backoff {
            Some(wait) => Ok(Delta::Restart {
                reason: error.to_string(),
                wait,
            }),
            None => Err(explain_wait(&self.policy, error)),
        })
    }
}

/// Retries a call that does not stream.
pub(super) async fn with_retry<T, F>(
    policy: Retry,
    mut work: impl FnMut() -> F,
) -> Result<T, ModelError>
where
    F: Future<Output = Result<T, ModelError>>,
{
    let mut failed = 0;
    loop {
        let error = match work().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        failed += 1;
        match backoff(&policy, failed, &error) {
            Some(backoff) => tokio::time::sleep(backoff).await,
            None => return Err(explain_wait(&policy, error)),
        }
    }
}

/// Says so if the server asks for a longer wait than the policy allows.
fn explain_wait(policy: &Retry, error: ModelError) -> ModelError {
    match error.retry_after() {
        Some(asked) if asked > policy.max => error.with_detail(&format!(
            "the server asks to wait {} s; more than retry.max_ms ({} s) is not waited for",
            grouped(asked.as_secs()),
            policy.max.as_secs_f64()
        )),
        Some(_) | None => error,
    }
}

/// The delay after the `failed`-th failure; `None` to give up.
fn backoff(policy: &Retry, failed: u32, error: &ModelError) -> Option<Duration> {
    if !error.is_transient() || failed >= policy.attempts {
        return None;
    }
    let factor = 2_u32.saturating_pow(failed.saturating_sub(1));
    let exponential = policy.base.saturating_mul(factor).min(policy.max);
    match error.retry_after() {
        Some(asked) if asked > policy.max => None,
        // Jitter, so that seats with the same `Retry-After` do not retry at the same moment.
        Some(asked) => Some(asked + (policy.base / 2).mul_f64(fastrand::f64())),
        None => Some(exponential.mul_f64(0.5 + fastrand::f64() / 2.0)),
    }
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
