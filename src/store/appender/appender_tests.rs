use std::task::Poll;
use std::time::Instant;

use futures::FutureExt;
use futures::future::join_all;
use roundtable_engine::event::State;
use roundtable_engine::journal::JournalError;
use uuid::Uuid;

use crate::store::errors::Failure;
use crate::store::fixtures::{ended, finished, keyed, opened, setup, spent};
use crate::store::test_stores::{Place, on_both};
use crate::store::{Lease, Store};

async fn leases(store: &Store, number: usize) -> Vec<Lease> {
    let mut leases = Vec::new();
    for _ in 0..number {
        let lease = store.create(Uuid::new_v4(), &setup("Why?"), 1).await;
        leases.push(lease.unwrap());
    }
    leases
}

/// C-08: appends of many debates at once are each all or nothing, and one that is refused does not take the others along.
async fn c08_appends_at_once_are_each_kept_or_refused(place: Place) {
    let store = place.open().await;
    let leases = leases(&store, 20).await;
    let journals: Vec<_> = leases.iter().map(Lease::journal).collect();
    // Debate 3 appends what it has already, debate 7 was taken over by somebody else.
    journals[3]
        .append(vec![keyed(1, opened("Why?"))])
        .await
        .unwrap();
    let stolen = leases[7].id();
    store.writer.run("UPDATE debates SET epoch = epoch").await;
    let mut writing = store.writer.begin().await.unwrap();
    let raised = sqlx::query("UPDATE debates SET epoch = epoch + 1 WHERE id = $1")
        .bind(stolen.to_string())
        .execute(writing.connection())
        .await
        .map_err(Failure::from);
    writing.end(raised).await.unwrap();

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

/// Somebody who goes away while writing for others leaves nothing half done, and the others do it themselves.
async fn c08_one_who_goes_away_while_writing_for_others_takes_nothing_along(place: Place) {
    let store = place.open().await;
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
        let mut going = one.append(vec![event(seq)]).fuse();
        let mut staying = two.append(vec![event(seq)]).fuse();
        let mut stayed = None;
        // Polled a few times and then dropped: before, while and after it writes.
        for _ in 0..polls {
            let _ = futures::poll!(&mut going);
            if let Poll::Ready(done) = futures::poll!(&mut staying) {
                stayed = Some(done);
            }
            tokio::task::yield_now().await;
        }
        drop(going);
        match stayed {
            Some(done) => done.unwrap(),
            None => staying.await.unwrap(),
        }
        let kept = store.entries(second.id()).await.unwrap().len();
        assert_eq!(kept, usize::try_from(polls).unwrap());
    }
}

/// C-08: of one debate's appends at the same time, each is kept or refused by itself, and in the order they came.
async fn c08_appends_of_one_debate_at_once_are_all_kept(place: Place) {
    let store = place.open().await;
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

/// C-08: many debates that have much to append at once are written with as many statements as it takes.
async fn c08_more_than_one_statement_takes_is_written_with_several(place: Place) {
    const DEBATES: usize = 60;
    const ENTRIES: u64 = 30;
    assert!(DEBATES * usize::try_from(ENTRIES).unwrap() * 20 > 32_766);
    let store = place.open().await;
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
    c08_appends_of_one_debate_at_once_are_all_kept,
    c08_appends_at_once_are_each_kept_or_refused,
    c08_more_than_one_statement_takes_is_written_with_several,
    c08_one_who_goes_away_while_writing_for_others_takes_nothing_along
);

/// C-08: a connection that breaks fails the appends under way; the next ones get a new one.
#[tokio::test]
async fn c08_a_connection_that_breaks_is_made_anew() {
    let place = Place::server();
    let store = place.open().await;
    let lease = leases(&store, 1).await.pop().unwrap();
    let step = |seq| vec![keyed(seq, finished(&format!("r{seq}/a"), spent(None)))];
    lease.journal().append(step(1)).await.unwrap();
    let Place::Server(database) = &place else {
        unreachable!()
    };
    database.sql(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    // The first may find it out the hard way.
    let _ = lease.journal().append(step(2)).await;
    let written = store.entries(lease.id()).await.unwrap().len() as u64;
    lease.journal().append(step(written + 1)).await.unwrap();
}

/// How many steps of a hundred debates are journaled in a second.
#[tokio::test]
#[ignore = "a measurement, not a test; run it alone and in release"]
async fn steps_a_second() {
    const DEBATES: usize = 100;
    const STEPS: u64 = 200;
    for place in [Place::safe_server(), Place::folder()] {
        let store = place.open().await;
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
            "{:>9.0} steps a second in {}",
            steps / seconds,
            place.address()
        );
    }
}
