use std::task::Poll;
use std::time::Instant;

use futures::FutureExt;
use futures::future::join_all;
use roundtable_engine::event::State;
use roundtable_engine::journal::JournalError;
use uuid::Uuid;

use crate::store::errors::Failure;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::{ended, finished, keyed, opened, setup, spent};
use crate::store::{Lease, Store};

async fn leases(store: &Store, number: usize) -> Vec<Lease> {
    let mut leases = Vec::new();
    for _ in 0..number {
        let lease = store.create(Uuid::new_v4(), &setup("Why?"), 1).await;
        leases.push(lease.unwrap());
    }
    leases
}

/// C-08: in a group commit each batch is atomic, and a rejected batch does not affect the others.
async fn c08_concurrent_appends_are_each_written_or_rejected(test_store: TestStore) {
    let store = test_store.open().await;
    let leases = leases(&store, 20).await;
    let journals: Vec<_> = leases.iter().map(Lease::journal).collect();
    // Debate 3 appends a duplicate, debate 7 was leased by another process.
    journals[3]
        .append(vec![keyed(1, opened("Why?"))])
        .await
        .unwrap();
    let stolen = leases[7].id();
    store.writer.run("UPDATE debates SET epoch = epoch").await;
    let mut transaction = store.writer.begin().await.unwrap();
    let raised = sqlx::query("UPDATE debates SET epoch = epoch + 1 WHERE id = $1")
        .bind(stolen.to_string())
        .execute(transaction.connection())
        .await
        .map_err(Failure::from);
    transaction.finish(raised).await.unwrap();

    let appends = journals.iter().map(|journal| {
        journal.append(vec![
            keyed(1, opened("Why?")),
            keyed(2, ended(State::Complete)),
        ])
    });
    let outcomes = futures::future::join_all(appends).await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let entries = store.entries(leases[number].id()).await.unwrap().len();
        match number {
            3 => {
                assert!(matches!(outcome, Err(JournalError::Duplicate { .. })));
                assert_eq!(entries, 1);
            }
            7 => assert_eq!((outcome, entries), (Err(JournalError::Fenced), 0)),
            _ => assert_eq!((outcome, entries), (Ok(()), 2)),
        }
    }
}

/// C-08: a dropped append does not affect the others in the same group commit.
async fn c08_a_dropped_append_does_not_affect_the_others(test_store: TestStore) {
    let store = test_store.open().await;
    let first = store
        .create(Uuid::new_v4(), &setup("Why?"), 1)
        .await
        .unwrap();
    let second = store
        .create(Uuid::new_v4(), &setup("Why?"), 1)
        .await
        .unwrap();
    let (one, two) = (first.journal(), second.journal());
    for polls in 1..12 {
        let seq = polls;
        let event = |seq| keyed(seq, finished(&format!("r{seq}/a/b"), spent(None)));
        let mut dropped = one.append(vec![event(seq)]).fuse();
        let mut kept = two.append(vec![event(seq)]).fuse();
        let mut outcome = None;
        // Polled a few times and then dropped: before, during and after the write.
        for _ in 0..polls {
            let _ = futures::poll!(&mut dropped);
            if let Poll::Ready(done) = futures::poll!(&mut kept) {
                outcome = Some(done);
            }
            tokio::task::yield_now().await;
        }
        drop(dropped);
        match outcome {
            Some(done) => done.unwrap(),
            None => kept.await.unwrap(),
        }
        let written = store.entries(second.id()).await.unwrap().len();
        assert_eq!(written, usize::try_from(polls).unwrap());
    }
}

/// C-08: concurrent appends to one debate are written in order.
async fn c08_concurrent_appends_to_one_debate_are_all_written(test_store: TestStore) {
    let store = test_store.open().await;
    let lease = leases(&store, 1).await.pop().unwrap();
    let journal = lease.journal();
    let appends = (1..=20).map(|seq| {
        let step = keyed(seq, finished(&format!("r{seq}/a"), spent(Some(0.1))));
        journal.append(vec![step])
    });
    assert!(join_all(appends).await.iter().all(Result::is_ok));
    let row = store.get(lease.id()).await.unwrap().unwrap();
    assert_eq!(
        (
            store.entries(lease.id()).await.unwrap().len(),
            row.totals.calls
        ),
        (20, 40)
    );
}

/// C-08: appends that exceed the parameter limit are split into several statements.
async fn c08_large_appends_are_split_into_several_statements(test_store: TestStore) {
    const DEBATES: usize = 60;
    const ENTRIES: u64 = 30;
    assert!(DEBATES * usize::try_from(ENTRIES).unwrap() * 22 > 32_766);
    let store = test_store.open().await;
    let leases = leases(&store, DEBATES).await;
    let journals: Vec<_> = leases.iter().map(Lease::journal).collect();
    let appends = journals.iter().map(|journal| {
        let steps =
            (1..=ENTRIES).map(|seq| keyed(seq, finished(&format!("r{seq}/a"), spent(None))));
        journal.append(steps.collect())
    });
    assert!(join_all(appends).await.iter().all(Result::is_ok));
    for lease in &leases {
        assert_eq!(
            store.entries(lease.id()).await.unwrap().len() as u64,
            ENTRIES
        );
    }
}

on_both!(
    c08_concurrent_appends_to_one_debate_are_all_written,
    c08_concurrent_appends_are_each_written_or_rejected,
    c08_large_appends_are_split_into_several_statements,
    c08_a_dropped_append_does_not_affect_the_others
);

/// C-08: a broken connection fails the appends in flight; the next append reconnects.
#[tokio::test]
async fn c08_a_broken_connection_is_replaced() {
    let test_store = TestStore::postgres();
    let store = test_store.open().await;
    let lease = leases(&store, 1).await.pop().unwrap();
    let step = |seq| vec![keyed(seq, finished(&format!("r{seq}/a"), spent(None)))];
    lease.journal().append(step(1)).await.unwrap();
    let database = test_store.database();
    database.sql(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    // The first append may fail.
    let _ = lease.journal().append(step(2)).await;
    let written = store.entries(lease.id()).await.unwrap().len() as u64;
    lease.journal().append(step(written + 1)).await.unwrap();
}

/// Measures how many steps per second a hundred debates can append.
#[tokio::test]
#[ignore = "a measurement, not a test; run it alone and in release"]
async fn steps_per_second() {
    const DEBATES: usize = 100;
    const STEPS: u64 = 200;
    for test_store in [TestStore::durable_postgres(), TestStore::sqlite()] {
        let store = test_store.open().await;
        let leases = leases(&store, DEBATES).await;
        let started = Instant::now();
        join_all(leases.iter().map(async |lease| {
            for seq in 1..=STEPS {
                let step = keyed(
                    seq,
                    finished(&format!("r{seq}/skeptic/review"), spent(Some(0.1))),
                );
                lease.journal().append(vec![step]).await.unwrap();
            }
        }))
        .await;
        let seconds = started.elapsed().as_secs_f64();
        let steps =
            f64::from(u32::try_from(DEBATES).unwrap()) * f64::from(u32::try_from(STEPS).unwrap());
        println!(
            "{:>9.0} steps per second in {}",
            steps / seconds,
            test_store.address()
        );
    }
}
