//! Limits the calls in flight to one provider (C-07).

use std::sync::Arc;

use futures::StreamExt;
use roundtable_engine::model::{Delta, Deltas, Model, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::delta_stream::{DeltaSource, Item, forward_capabilities, into_deltas};

/// Waits for a permit and holds it until the stream ends or is dropped.
pub(super) struct WithConcurrencyLimit {
    pub inner: Arc<dyn Model>,
    pub permits: Arc<Semaphore>,
}

impl Model for WithConcurrencyLimit {
    fn stream(&self, request: Request) -> Deltas {
        let waiting = State::Waiting {
            inner: Arc::clone(&self.inner),
            permits: Arc::clone(&self.permits),
            request,
        };
        into_deltas(waiting)
    }

    forward_capabilities!(inner);
}

enum State {
    Waiting {
        inner: Arc<dyn Model>,
        permits: Arc<Semaphore>,
        request: Request,
    },
    Running {
        stream: Deltas,
        /// `None` only if the semaphore is closed, which does not happen.
        #[expect(dead_code, reason = "held until the stream is dropped")]
        permit: Option<OwnedSemaphorePermit>,
    },
    Over,
}

impl DeltaSource for State {
    async fn next(&mut self) -> Option<Item> {
        if matches!(self, Self::Waiting { .. })
            && let Self::Waiting {
                inner,
                permits,
                request,
            } = std::mem::replace(self, Self::Over)
        {
            let permit = permits.acquire_owned().await.ok();
            let stream = inner.stream(request);
            *self = Self::Running { stream, permit };
        }
        let Self::Running { stream, .. } = self else {
            return None;
        };
        let item = stream.next().await?;
        if matches!(item, Err(_) | Ok(Delta::Finish(_))) {
            *self = Self::Over;
        }
        Some(item)
    }
}

#[cfg(test)]
#[path = "limit_tests.rs"]
mod tests;
