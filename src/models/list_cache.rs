//! The cached list of a provider's models. A list is reused for two minutes; after that the old one is returned while a new one is
//! fetched in the background. At most one request per provider is in flight, whoever asks and however often, and a failure is
//! remembered for a moment.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::wire::Listed;

const FRESH_FOR: Duration = Duration::from_mins(2);
const FAILED_FOR: Duration = Duration::from_secs(10);
/// An older list is not used while a new one is fetched.
const STALE_FOR: Duration = Duration::from_hours(1);

/// The models, or why the provider does not list them.
pub(super) type Listing = Result<Vec<Listed>, String>;

#[derive(Debug, Default)]
pub(super) struct ListCache {
    state: Arc<Mutex<State>>,
    tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct State {
    last: Option<(Instant, Listing)>,
    /// The request in flight.
    running: Option<Shared<BoxFuture<'static, Listing>>>,
}

impl ListCache {
    /// The list. `fetch` is called if there is none or it is old, and continues if the caller goes away.
    pub(super) async fn get(&self, fetch: impl FnOnce() -> BoxFuture<'static, Listing>) -> Listing {
        let running = {
            let mut state = lock(&self.state);
            let age = state.last.as_ref().map(|(at, _)| at.elapsed());
            let fresh_for = match &state.last {
                Some((_, Ok(_))) | None => FRESH_FOR,
                Some((_, Err(_))) => FAILED_FOR,
            };
            if let Some((_, listing)) = &state.last
                && age.is_some_and(|age| age < fresh_for)
            {
                return listing.clone();
            }
            let running = state.running.clone();
            let running = running.unwrap_or_else(|| self.start(fetch()));
            state.running = Some(running.clone());
            if let Some((_, Ok(stale))) = &state.last
                && age.is_some_and(|age| age < STALE_FOR)
            {
                return Ok(stale.clone());
            }
            running
        };
        running.await
    }

    fn start(&self, fetch: BoxFuture<'static, Listing>) -> Shared<BoxFuture<'static, Listing>> {
        let state = Arc::clone(&self.state);
        let task = self.tasks.spawn(async move {
            let listing = fetch.await;
            let mut state = lock(&state);
            state.last = Some((Instant::now(), listing.clone()));
            state.running = None;
            listing
        });
        let listing = async { task.await.unwrap_or_else(|error| Err(error.to_string())) };
        listing.boxed().shared()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "list_cache_tests.rs"]
mod tests;
