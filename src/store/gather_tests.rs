use std::task::Poll;

use futures::FutureExt;
use roundtable_engine::event::State;
use roundtable_engine::journal::JournalError;

use super::super::fixtures::{ended, keyed, opened, setup};
use super::*;
use crate::store::places::{Place, on_both};

/// C-08: appends of many debates at once are each all or nothing, and one that is refused does not take the others along.
async fn c08_appends_at_once_are_each_kept_or_refused(place: Place) {
    let store = place.open().await;
    let mut claims = Vec::new();
    for _ in 0..20 {
        let claim = store.create(Uuid::new_v4(), &setup("Why?"), 1).await;
        claims.push(claim.unwrap());
    }
    let journals: Vec<_> = claims.iter().map(super::super::Claim::journal).collect();
    // Debate 3 appends what it has already, debate 7 was taken over by somebody else.
    journals[3]
        .append(vec![keyed(1, opened("Why?"))])
        .await
        .unwrap();
    let stolen = claims[7].id();
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
        let entries = store.entries(claims[number].id()).await.unwrap().len();
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
        let event = |seq| {
            keyed(
                seq,
                super::super::fixtures::finished(
                    &format!("r{seq}/a/b"),
                    super::super::fixtures::spent(None),
                ),
            )
        };
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

on_both!(
    c08_appends_at_once_are_each_kept_or_refused,
    c08_one_who_goes_away_while_writing_for_others_takes_nothing_along
);
