//! No more calls at once than a provider is to get (C-07).

use std::sync::Arc;

use futures::StreamExt;
use roundtable_engine::model::{Delta, Deltas, Model, Profile, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::delta_stream::{Item, Source, drawn_from};

/// A model that waits for a place at its provider and keeps it until its stream has ended or is dropped.
pub(super) struct Limited {
    pub inner: Arc<dyn Model>,
    pub places: Arc<Semaphore>,
}

impl Model for Limited {
    fn stream(&self, request: Request) -> Deltas {
        let waiting = State::Waiting {
            inner: Arc::clone(&self.inner),
            places: Arc::clone(&self.places),
            request,
        };
        drawn_from(waiting)
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

enum State {
    Waiting {
        inner: Arc<dyn Model>,
        places: Arc<Semaphore>,
        request: Request,
    },
    Running {
        stream: Deltas,
        /// Given back with the stream. `None` only if the semaphore were closed, which nobody does.
        #[expect(dead_code, reason = "it is held, not looked at")]
        place: Option<OwnedSemaphorePermit>,
    },
    Over,
}

impl Source for State {
    async fn next(&mut self) -> Option<Item> {
        if matches!(self, Self::Waiting { .. })
            && let Self::Waiting {
                inner,
                places,
                request,
            } = std::mem::replace(self, Self::Over)
        {
            let place = places.acquire_owned().await.ok();
            let stream = inner.stream(request);
            *self = Self::Running { stream, place };
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
