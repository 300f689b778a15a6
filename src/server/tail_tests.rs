use std::sync::atomic::Ordering;

use crate::server::scheduler::test_support::TestScheduler;

use super::*;

const READERS: usize = 20;

/// P-09: any number of readers of a debate that does not run here share one query per poll, and get its entries.
#[tokio::test]
async fn p09_readers_share_one_poll() {
    let test = TestScheduler::open(1).await;
    let id = test.stopped_debate().await;
    let store = test.scheduler.store();
    let seq = store.entries(id).await.unwrap().last().unwrap().seq;
    let reads = || store.reads.load(Ordering::Relaxed);
    let before = reads();
    let mut readers: Vec<_> = (0..READERS)
        .map(|_| test.scheduler.follow(id, seq))
        .collect();
    let started = std::time::Instant::now();
    tokio::time::sleep(POLL_INTERVAL * 2).await;
    let polls = started.elapsed().as_secs() + 1;
    let count = reads() - before;
    assert!(
        (1..=2 * polls).contains(&count),
        "{count} reads in {polls} polls"
    );

    let said = test.scheduler.say(id, "Costs matter.".into(), None);
    said.await.unwrap();
    for (tail, changed) in &mut readers {
        changed.changed().await.unwrap();
        let entries = tail.entries_after(seq).unwrap();
        assert_eq!(entries.len(), 1);
    }
}

/// P-09: the poll ends with the last reader, and the readers of a deleted debate are notified.
#[tokio::test]
async fn p09_a_poll_ends_with_its_readers_or_its_debate() {
    let test = TestScheduler::open(1).await;
    let (left, deleted) = (test.stopped_debate().await, test.stopped_debate().await);
    let (tail, changed) = test.scheduler.follow(left, 0);
    drop(changed);
    let gone = || !test.scheduler.tails().lock().contains_key(&left);
    while !gone() {
        tokio::task::yield_now().await;
    }
    assert!(!tail.is_closed());

    let (tail, mut changed) = test.scheduler.follow(deleted, 99);
    test.scheduler.delete(deleted).await.unwrap();
    while !tail.is_closed() {
        changed.changed().await.unwrap();
    }
}

/// P-09: a debate that enters the scheduler wakes its own readers and no others.
#[tokio::test]
async fn p09_only_the_readers_of_a_debate_are_woken() {
    let test = TestScheduler::open(0).await;
    let (own, other) = (test.stopped_debate().await, test.stopped_debate().await);
    let (_own, mut own_changed) = test.scheduler.follow(own, 99);
    let (_other, other_changed) = test.scheduler.follow(other, 99);
    test.scheduler
        .decide(own, "continue".into(), None, None)
        .await
        .unwrap();
    own_changed.changed().await.unwrap();
    assert!(!other_changed.has_changed().unwrap());
}

/// Entries beyond the memory of the tail are read by the reader itself.
#[test]
fn a_reader_that_is_behind_is_told_so() {
    let tail = Tail::after(10);
    assert_eq!(tail.entries_after(9), None);
    assert_eq!(tail.entries_after(10), Some(Vec::new()));
}
