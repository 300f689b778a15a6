//! Limits the calls in flight to one provider (C-07).

use std::sync::Arc;

use futures::StreamExt;
use roundtable_engine::model::{Deltas, Model, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::delta_stream::{DeltaSource, Item, forward_capabilities, into_deltas};

/// Waits for a permit and holds it until the stream ends or is dropped.
pub(super) struct WithConcurrencyLimit {
    pub inner: Arc<dyn Model>,
    pub permits: Arc<Semaphore>,
}

impl Model for WithConcurrencyLimit {
    fn stream(&self, request: Request) -> Deltas {
        let (inner, permits) = (Arc::clone(&self.inner), Arc::clone(&self.permits));
        into_deltas(Call {
            waiting: Some((inner, permits, request)),
            running: None,
        })
    }

    forward_capabilities!(inner);
}

struct Call {
    waiting: Option<(Arc<dyn Model>, Arc<Semaphore>, Request)>,
    /// The permit is `None` only if the semaphore is closed, which does not happen.
    running: Option<(Deltas, Option<OwnedSemaphorePermit>)>,
}

impl DeltaSource for Call {
    async fn next(&mut self) -> Option<Item> {
        if let Some((inner, permits, request)) = self.waiting.take() {
            let permit = permits.acquire_owned().await.ok();
            self.running = Some((inner.stream(request), permit));
        }
        self.running.as_mut()?.0.next().await
    }
}

#[cfg(test)]
#[path = "limit_tests.rs"]
mod tests;
