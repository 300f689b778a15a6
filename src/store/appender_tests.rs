use std::time::Instant;

use futures::future::join_all;
use uuid::Uuid;

use crate::store::fixtures::{finished, keyed, setup, spent};
use crate::store::places::Place;
use crate::store::{Claim, Store};

async fn claims(store: &Store, number: usize) -> Vec<Claim> {
    let mut claims = Vec::new();
    for _ in 0..number {
        let claim = store.create(Uuid::new_v4(), &setup("Why?"), 1).await;
        claims.push(claim.unwrap());
    }
    claims
}

/// C-08: of one debate's appends at the same time, each is kept or refused by itself, and in the order they came.
#[tokio::test]
async fn c08_appends_of_one_debate_at_once_are_all_kept() {
    let place = Place::server();
    let store = place.open().await;
    let claim = claims(&store, 1).await.pop().unwrap();
    let journal = claim.journal();
    let appends = (1..=20).map(|seq| {
        let step = keyed(seq, finished(&format!("r{seq}/a"), spent(Some(0.1))));
        journal.append(vec![step])
    });
    assert!(join_all(appends).await.iter().all(Result::is_ok));
    let row = store.get(claim.id()).await.unwrap().unwrap();
    assert_eq!(
        (
            store.entries(claim.id()).await.unwrap().len(),
            row.totals.calls
        ),
        (20, 40)
    );
}

/// C-08: a connection that breaks fails the appends under way; the next ones get a new one.
#[tokio::test]
async fn c08_a_connection_that_breaks_is_made_anew() {
    let place = Place::server();
    let store = place.open().await;
    let claim = claims(&store, 1).await.pop().unwrap();
    let step = |seq| vec![keyed(seq, finished(&format!("r{seq}/a"), spent(None)))];
    claim.journal().append(step(1)).await.unwrap();
    let Place::Server(database) = &place else {
        unreachable!()
    };
    database.sql(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    // The first may find it out the hard way.
    let _ = claim.journal().append(step(2)).await;
    let written = store.entries(claim.id()).await.unwrap().len() as u64;
    claim.journal().append(step(written + 1)).await.unwrap();
}

/// How many steps of a hundred debates are journaled in a second.
#[tokio::test]
#[ignore = "a measurement, not a test; run it alone and in release"]
async fn steps_a_second() {
    const DEBATES: usize = 100;
    const STEPS: u64 = 200;
    for place in [Place::safe_server(), Place::folder()] {
        let store = place.open().await;
        let claims = claims(&store, DEBATES).await;
        let started = Instant::now();
        join_all(claims.iter().map(async |claim| {
            for seq in 1..=STEPS {
                let step = keyed(
                    seq,
                    finished(&format!("r{seq}/skeptic/review"), spent(Some(0.1))),
                );
                claim.journal().append(vec![step]).await.unwrap();
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
