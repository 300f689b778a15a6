use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A provider that takes a second to list models, and counts requests.
#[derive(Default)]
struct Provider {
    cache: ListCache,
    requests: Arc<AtomicUsize>,
    in_flight: Arc<AtomicUsize>,
    most_in_flight: Arc<AtomicUsize>,
}

impl Provider {
    async fn list(&self, outcome: Result<&str, &str>) -> Listing {
        let (requests, in_flight) = (Arc::clone(&self.requests), Arc::clone(&self.in_flight));
        let most = Arc::clone(&self.most_in_flight);
        let outcome = outcome
            .map(|id| {
                vec![Listed {
                    id: id.to_owned(),
                    ..Listed::default()
                }]
            })
            .map_err(str::to_owned);
        let fetch = async move {
            requests.fetch_add(1, Ordering::SeqCst);
            let now = in_flight.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            in_flight.fetch_sub(1, Ordering::SeqCst);
            outcome
        };
        self.cache.get(|| fetch.boxed()).await
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn first(listing: Listing) -> String {
    listing.map_or_else(|error| error, |list| list[0].id.clone())
}

#[tokio::test(start_paused = true)]
async fn callers_at_the_same_time_share_one_request() {
    let provider = Provider::default();
    let all = futures::future::join_all((0..50).map(|_| provider.list(Ok("a")))).await;
    assert!(all.into_iter().all(|listing| first(listing) == "a"));
    assert_eq!(provider.requests(), 1);
    assert_eq!(provider.most_in_flight.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn an_old_list_is_returned_at_once_and_replaced_in_the_background() {
    let provider = Provider::default();
    provider.list(Ok("a")).await.unwrap();
    tokio::time::advance(FRESH_FOR.saturating_sub(Duration::from_millis(1))).await;
    assert_eq!(first(provider.list(Ok("b")).await), "a");
    assert_eq!(provider.requests(), 1);
    tokio::time::advance(Duration::from_millis(1)).await;
    let asked = Instant::now();
    assert_eq!(first(provider.list(Ok("b")).await), "a");
    assert_eq!(first(provider.list(Ok("c")).await), "a");
    assert_eq!(asked.elapsed(), Duration::ZERO);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(first(provider.list(Ok("d")).await), "b");
    assert_eq!(provider.requests(), 2);
    tokio::time::advance(STALE_FOR).await;
    assert_eq!(first(provider.list(Ok("e")).await), "e");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_remembered_for_a_moment() {
    let provider = Provider::default();
    assert_eq!(first(provider.list(Err("down")).await), "down");
    tokio::time::advance(FAILED_FOR.saturating_sub(Duration::from_millis(1))).await;
    assert_eq!(first(provider.list(Ok("a")).await), "down");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(first(provider.list(Ok("a")).await), "a");
    assert_eq!(provider.requests(), 2);
}

/// A client that goes away does not cancel the request, so the next one does not start another.
#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_leaves_the_list_to_the_next() {
    let provider = Provider::default();
    let impatient = tokio::time::timeout(Duration::from_millis(10), provider.list(Ok("a")));
    assert!(impatient.await.is_err());
    assert_eq!(first(provider.list(Ok("b")).await), "a");
    assert_eq!(provider.requests(), 1);
}
