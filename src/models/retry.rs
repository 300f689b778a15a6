//! Tries again what may well succeed a little later (C-07): with growing, random pauses, or after as long as the server
//! asks for.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use roundtable_engine::model::{Delta, Deltas, Model, ModelError, Profile, Request};

use super::delta_stream::{Item, Source, drawn_from};
use crate::config::Retry;

/// A model whose calls are made up to `policy.attempts` times. Before each further attempt it says that all text so far
/// is void.
pub(super) struct Retrying {
    pub inner: Arc<dyn Model>,
    pub policy: Retry,
}

impl Model for Retrying {
    fn stream(&self, request: Request) -> Deltas {
        let call = Call {
            inner: Arc::clone(&self.inner),
            policy: self.policy,
            request,
            stream: None,
            failed: 0,
            pause: None,
            over: false,
        };
        drawn_from(call)
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

struct Call {
    inner: Arc<dyn Model>,
    policy: Retry,
    request: Request,
    stream: Option<Deltas>,
    failed: u32,
    pause: Option<Duration>,
    over: bool,
}

impl Source for Call {
    async fn next(&mut self) -> Option<Item> {
        if self.over {
            return None;
        }
        if let Some(pause) = self.pause.take() {
            tokio::time::sleep(pause).await;
        }
        let stream = self
            .stream
            .get_or_insert_with(|| self.inner.stream(self.request.clone()));
        let error = match stream.next().await {
            Some(Ok(delta)) => {
                if matches!(delta, Delta::Finish(_)) {
                    self.over = true;
                    self.stream = None;
                }
                return Some(Ok(delta));
            }
            Some(Err(error)) => error,
            None => ModelError::Interrupted {
                detail: "the stream ended before the reply did".to_owned(),
            },
        };
        // Whatever the attempt held, its place at the provider above all, is given back before the pause.
        self.stream = None;
        self.failed += 1;
        self.pause = pause(&self.policy, self.failed, &error);
        if self.pause.is_none() {
            self.over = true;
            return Some(Err(error));
        }
        Some(Ok(Delta::Restart {
            reason: error.to_string(),
        }))
    }
}

/// The same for work without a stream.
pub(super) async fn again<T, F>(policy: Retry, mut work: impl FnMut() -> F) -> Result<T, ModelError>
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
        match pause(&policy, failed, &error) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => return Err(error),
        }
    }
}

/// How long to wait after the `failed`-th failure, or `None` to give up.
fn pause(policy: &Retry, failed: u32, error: &ModelError) -> Option<Duration> {
    if !error.is_transient() || failed >= policy.attempts {
        return None;
    }
    let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
    let longest = policy.base.saturating_mul(doubled).min(policy.max);
    match error.retry_after() {
        Some(asked) if asked > policy.max => None,
        // Not all seats that were told the same at once come back at once.
        Some(asked) => Some(asked + (policy.base / 2).mul_f64(fastrand::f64())),
        None => Some(longest.mul_f64(0.5 + fastrand::f64() / 2.0)),
    }
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
