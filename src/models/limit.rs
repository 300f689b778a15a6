//! No more calls at once than a provider is to get (C-07).

use std::sync::Arc;

use futures::{StreamExt, stream};
use roundtable_engine::model::{Delta, Deltas, Model, ModelError, Profile, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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
        stream::unfold(waiting, |state| async move { state.next().await }).boxed()
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
        // `None` only if the semaphore were closed, which nobody does.
        place: Option<OwnedSemaphorePermit>,
    },
    Over,
}

impl State {
    async fn next(self) -> Option<(Result<Delta, ModelError>, Self)> {
        let (mut stream, place) = match self {
            Self::Over => return None,
            Self::Running { stream, place } => (stream, place),
            Self::Waiting {
                inner,
                places,
                request,
            } => {
                let place = places.acquire_owned().await.ok();
                (inner.stream(request), place)
            }
        };
        let item = stream.next().await?;
        let state = match &item {
            Err(_) | Ok(Delta::Finish(_)) => Self::Over,
            Ok(_) => Self::Running { stream, place },
        };
        Some((item, state))
    }
}

#[cfg(test)]
#[path = "limit_tests.rs"]
mod tests;
