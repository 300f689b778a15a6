use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[tokio::test]
async fn many_probes_at_once_read_once() {
    let cached = Cached::default();
    let reads = AtomicU32::new(0);
    let read = || async {
        tokio::task::yield_now().await;
        reads.fetch_add(1, Ordering::Relaxed)
    };
    let all = futures::future::join_all((0..100).map(|_| cached.get(read()))).await;
    assert_eq!(all, [0; 100]);
    let expired = Instant::now().checked_sub(TTL).unwrap();
    *cached.last.lock().await = Some((expired, 0));
    assert_eq!(cached.get(read()).await, 1);
}
