//! The database queries of `/healthz` and `/readyz`, at most one per second each: these paths need no token and have no rate limit.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::scheduler::Scheduler;
use crate::store::Store;

const TTL: Duration = Duration::from_secs(1);
const QUEUE_LENGTH_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Probes {
    queue_length: Cached<u64>,
    is_store_up: Cached<bool>,
}

impl Probes {
    /// A slow database must not fail the liveness check.
    pub(super) async fn queue_length(&self, scheduler: &Scheduler, store: &Store) -> u64 {
        if !store.is_shared() {
            return scheduler.queue_length().await;
        }
        let read = async {
            let length = tokio::time::timeout(QUEUE_LENGTH_TIMEOUT, scheduler.queue_length());
            length.await.unwrap_or(0)
        };
        self.queue_length.get(read).await
    }

    pub(super) async fn is_store_up(&self, store: &Store) -> bool {
        let ping = async { store.ping().await.is_ok() };
        self.is_store_up.get(ping).await
    }
}

/// A value that is read again after [`TTL`], once for all who wait for it.
#[derive(Default)]
struct Cached<T> {
    last: Mutex<Option<(Instant, T)>>,
}

impl<T: Copy> Cached<T> {
    async fn get(&self, read: impl Future<Output = T>) -> T {
        let mut last = self.last.lock().await;
        if let Some((read_at, value)) = *last
            && read_at.elapsed() < TTL
        {
            return value;
        }
        let value = read.await;
        *last = Some((Instant::now(), value));
        value
    }
}

#[cfg(test)]
#[path = "probes_tests.rs"]
mod tests;
