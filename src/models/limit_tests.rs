use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use futures::stream;
use roundtable_engine::model::{Delta, Finish, ModelError};

use super::super::retry::WithRetry;
use super::super::test_support::{Reply, Server, call, drain, plain_request, registry_from};
use super::*;
use crate::config::Retry;

/// Counts the calls in flight; the first `failures` calls fail.
#[derive(Default)]
struct Gauge {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    failures: Arc<AtomicUsize>,
}

impl Model for Gauge {
    fn stream(&self, _request: Request) -> Deltas {
        let (now, most) = (Arc::clone(&self.now), Arc::clone(&self.most));
        let fails = self
            .failures
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
            .is_ok();
        stream::once(async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            if fails {
                Err(ModelError::Interrupted {
                    detail: "x".to_owned(),
                })
            } else {
                Ok(Delta::Finish(Finish::Stop))
            }
        })
        .boxed()
    }
}

/// C-07
#[tokio::test(start_paused = true)]
async fn c07_no_more_calls_run_than_there_are_places() {
    for permits in [1, 3] {
        let gauge = Arc::new(Gauge::default());
        let model = WithConcurrencyLimit {
            inner: Arc::clone(&gauge) as Arc<dyn Model>,
            permits: Arc::new(Semaphore::new(permits)),
        };
        join_all((0..9).map(|_| drain(&model, plain_request("m")))).await;
        assert_eq!(permits, gauge.most.load(Ordering::SeqCst));
    }
}

/// C-07: a call releases its permit during the backoff.
#[tokio::test(start_paused = true)]
async fn c07_a_permit_is_released_during_the_backoff() {
    let gauge = Arc::new(Gauge::default());
    gauge.failures.store(1, Ordering::SeqCst);
    let limited = Arc::new(WithConcurrencyLimit {
        inner: Arc::clone(&gauge) as Arc<dyn Model>,
        permits: Arc::new(Semaphore::new(1)),
    });
    let policy = Retry {
        attempts: 2,
        base: Duration::from_mins(1),
        max: Duration::from_mins(1),
    };
    let first = WithRetry {
        inner: Arc::clone(&limited) as Arc<dyn Model>,
        policy,
    };
    let started = tokio::time::Instant::now();
    let first_call = drain(&first, plain_request("m"));
    let second_call = async {
        drain(limited.as_ref(), plain_request("m")).await;
        started.elapsed()
    };
    let ((deltas, _), second_took) = futures::join!(first_call, second_call);
    assert_eq!(2, deltas.len());
    assert!(second_took < Duration::from_secs(1), "{second_took:?}");
}

/// C-07: with a whole provider, over real connections.
#[tokio::test]
async fn c07_a_provider_never_gets_more_calls_at_once_than_configured() {
    let reply = Reply::events(&[
        "{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}",
        "[DONE]",
    ]);
    let server = Server::new([reply.after(Duration::from_millis(20))]);
    let registry = registry_from(&format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\nmax_concurrent = 2",
        server.address
    ));
    // Different models of one provider share its limit.
    let calls = (0..6).map(|n| call(&registry, plain_request(if n % 2 == 0 { "a" } else { "b" })));
    join_all(calls).await;
    assert_eq!((6, 2), (server.seen().len(), server.max_in_flight()));
}
