use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::{StreamExt, stream};
use roundtable_engine::model::Finish;
use tokio::time::Instant;

use super::super::test_support::{drain, plain_request};
use super::*;

/// Fails as scripted, then answers.
struct Scripted {
    errors: Mutex<Vec<ModelError>>,
    calls: AtomicU32,
}

impl Scripted {
    fn new(errors: impl IntoIterator<Item = ModelError>) -> Arc<Self> {
        let mut errors: Vec<ModelError> = errors.into_iter().collect();
        errors.reverse();
        Arc::new(Self {
            errors: Mutex::new(errors),
            calls: AtomicU32::new(0),
        })
    }
}

impl Model for Scripted {
    fn stream(&self, _request: Request) -> Deltas {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let end = self
            .errors
            .lock()
            .unwrap()
            .pop()
            .map_or(Ok(Delta::Finish(Finish::Stop)), Err);
        stream::iter([Ok(Delta::Text("ha".to_owned())), end]).boxed()
    }
}

const POLICY: Retry = Retry {
    attempts: 4,
    base: Duration::from_millis(500),
    max: Duration::from_mins(1),
};

fn rate_limited(retry_after: Option<u64>) -> ModelError {
    ModelError::RateLimited {
        retry_after: retry_after.map(Duration::from_secs),
        detail: "slow".to_owned(),
    }
}

fn server_error() -> ModelError {
    ModelError::Server {
        status: 503,
        retry_after: None,
        detail: "busy".to_owned(),
    }
}

async fn outcome(errors: Vec<ModelError>) -> (Vec<Delta>, Option<ModelError>, u32, Duration) {
    let inner = Scripted::new(errors);
    let model = WithRetry {
        inner: Arc::clone(&inner) as Arc<dyn Model>,
        policy: POLICY,
    };
    let started = Instant::now();
    let (deltas, error) = drain(&model, plain_request("m")).await;
    (
        without_waits(deltas),
        error,
        inner.calls.load(Ordering::SeqCst),
        started.elapsed(),
    )
}

fn text() -> Delta {
    Delta::Text("ha".to_owned())
}

fn restart(error: &ModelError) -> Delta {
    Delta::Restart {
        reason: error.to_string(),
        wait: Duration::ZERO,
    }
}

/// Waits are random, so comparisons leave them out.
fn without_waits(deltas: Vec<Delta>) -> Vec<Delta> {
    let deltas = deltas.into_iter();
    deltas
        .map(|delta| match delta {
            Delta::Restart { reason, .. } => Delta::Restart {
                reason,
                wait: Duration::ZERO,
            },
            other => other,
        })
        .collect()
}

/// C-07: a retry is announced with the wait before it.
#[tokio::test(start_paused = true)]
async fn c07_a_retry_is_announced_with_its_wait() {
    let asked = Duration::from_secs(3);
    let model = WithRetry {
        inner: Scripted::new(vec![rate_limited(Some(3))]),
        policy: POLICY,
    };
    let (deltas, _) = drain(&model, plain_request("m")).await;
    let waits: Vec<Duration> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Restart { wait, .. } => Some(*wait),
            _ => None,
        })
        .collect();
    assert_eq!(waits.len(), 1);
    assert!(
        waits[0] >= asked && waits[0] <= asked + POLICY.base,
        "{waits:?}"
    );
}

/// C-07
#[tokio::test(start_paused = true)]
async fn c07_a_transient_error_is_retried_and_restarts_the_reply() {
    let timeout = ModelError::Timeout {
        after: Duration::from_secs(1),
    };
    let (deltas, error, calls, waited) = outcome(vec![server_error(), timeout.clone()]).await;
    assert_eq!((None, 3), (error, calls));
    assert_eq!(
        vec![
            text(),
            restart(&server_error()),
            text(),
            restart(&timeout),
            text(),
            Delta::Finish(Finish::Stop)
        ],
        deltas
    );
    // 250 to 500 ms, then 500 to 1,000
    assert!((750..=1502).contains(&waited.as_millis()), "{waited:?}");
}

/// C-07: four attempts in total, then the last error.
#[tokio::test(start_paused = true)]
async fn c07_429_forever_ends_after_four_attempts() {
    let (deltas, error, calls, _) = outcome(vec![rate_limited(None); 9]).await;
    assert_eq!((Some(rate_limited(None)), 4), (error, calls));
    let again = [text(), restart(&rate_limited(None))];
    let expected: Vec<Delta> = again
        .iter()
        .cycle()
        .take(6)
        .cloned()
        .chain([text()])
        .collect();
    assert_eq!(expected, deltas);
}

/// C-07: a `Retry-After` above the limit ends the retries.
#[tokio::test(start_paused = true)]
async fn c07_retry_after_is_honoured() {
    let (_, error, calls, waited) = outcome(vec![rate_limited(Some(20))]).await;
    assert_eq!((None, 2), (error, calls));
    assert!(
        (20_000..=20_252).contains(&waited.as_millis()),
        "{waited:?}"
    );

    let (_, error, calls, waited) = outcome(vec![rate_limited(Some(61))]).await;
    let explained = rate_limited(Some(61)).with_detail(
        "the server asks to wait 61 s; more than retry.max_ms (60 s) is not waited for",
    );
    assert_eq!((Some(explained), 1), (error, calls));
    assert_eq!(Duration::ZERO, waited);
}

/// C-07
#[tokio::test(start_paused = true)]
async fn c07_permanent_errors_are_not_retried() {
    let detail = || "no".to_owned();
    for error in [
        ModelError::Unauthorized { detail: detail() },
        ModelError::UnknownModel { detail: detail() },
        ModelError::TooLong { detail: detail() },
        ModelError::Rejected {
            status: 400,
            detail: detail(),
        },
        ModelError::NotAModelServer { detail: detail() },
    ] {
        let (deltas, given, calls, _) = outcome(vec![error.clone()]).await;
        assert_eq!((vec![text()], Some(error), 1), (deltas, given, calls));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_without_a_stream_are_retried_too() {
    let calls = AtomicU32::new(0);
    let work = || async {
        match calls.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Err(server_error()),
            n => Ok(n),
        }
    };
    assert_eq!(Ok(2), with_retry(POLICY, work).await);
}
