use roundtable_core::usage::Money;
use roundtable_engine::event::{Entry, Event, State};
use roundtable_engine::journal::{Journal, JournalError};
use std::sync::Arc;
use uuid::Uuid;

use super::query::Page;
use super::row::Totals;
use super::test_stores::{TestStore, on_both};
use super::test_support::{at, ended, entries, failed, finished, keyed, opened, setup, spent};
use super::{DebateRow, Filter, LeaseError, Rating, Store};

/// C-10, C-14: the life cycle of a debate.
async fn life_cycle(store: &Store) {
    let id = Uuid::new_v4();
    let other = store
        .create(Uuid::new_v4(), &setup("Another one"), at(0) - 1)
        .await
        .unwrap();
    let stale = start_and_stop(store, id).await;
    let mut expected = check_resume(store, id, &stale).await;
    expected.extend(rate_twice(store, id).await);
    assert_eq!(store.entries(id).await, Ok(expected));
    check_listing(store, id).await;
    check_reopen(store, id).await;
    check_delete(store, id).await;
    let late = vec![keyed(9, ended(State::Failed))];
    assert_eq!(stale.append(late).await, Err(JournalError::Fenced));
    assert_eq!(store.ids().await, Ok(vec![other.id()]));
}

fn beginning() -> [roundtable_engine::journal::Keyed; 3] {
    let round = Event::RoundStarted {
        round: 1,
        name: "opening".into(),
    };
    [
        keyed(1, opened("Is it so?")),
        keyed(2, round),
        keyed(3, finished("r1/proposer", spent(Some(0.5)))),
    ]
}

async fn start_and_stop(store: &Store, id: Uuid) -> Arc<dyn Journal> {
    let lease = store.create(id, &setup("Is it so?"), at(0)).await.unwrap();
    lease.journal().append(beginning().into()).await.unwrap();
    lease.journal()
}

/// Nothing is lost or duplicated, and the former owner is fenced.
async fn check_resume(store: &Store, id: Uuid, stale: &Arc<dyn Journal>) -> Vec<Entry> {
    let lease = store.lease(id).await.unwrap();
    assert_eq!(lease.setup(), &setup("Is it so?"));
    assert_eq!(lease.journal().load().await, Ok(entries(&beginning())));
    let [_, _, known] = beginning();
    let key = known.key.clone();
    assert_eq!(
        lease.journal().append(vec![known]).await,
        Err(JournalError::Duplicate { key })
    );
    let rest = [
        keyed(4, failed("r1/skeptic", spent(Some(0.25)))),
        keyed(5, ended(State::Partial)),
    ];
    let refused = stale.append(rest.clone().into()).await;
    assert_eq!(refused, Err(JournalError::Fenced));
    lease.journal().append(rest.clone().into()).await.unwrap();
    assert_eq!(store.delete(id).await, Err(LeaseError::Held { id }));
    [entries(&beginning()), entries(&rest)].concat()
}

async fn rate_twice(store: &Store, id: Uuid) -> [Entry; 2] {
    let comment = Some(String::from("on reflection"));
    let rating = |value| Rating::new(value).unwrap();
    store.rate(id, rating(4), None, at(6)).await.unwrap();
    store
        .rate(id, rating(9), comment.clone(), at(7))
        .await
        .unwrap();
    [(1, 4, None), (2, 9, comment)].map(|(number, rating, comment)| {
        let seq = 5 + u64::from(number);
        Entry {
            seq,
            at: at(seq),
            event: Event::Rated {
                number,
                rating,
                comment,
            },
        }
    })
}

async fn check_listing(store: &Store, id: Uuid) {
    let row = DebateRow {
        id,
        protocol: "dialectic".into(),
        question: "Is it so?".into(),
        state: State::Partial,
        created_at: at(0),
        updated_at: at(7),
        ended_at: Some(at(5)),
        totals: Totals {
            calls: 4,
            retries: 2,
            input_tokens: 200,
            output_tokens: 40,
            cached_tokens: 120,
            cost_usd: Money::from_dollars(0.75),
        },
        rating: Some(9),
        result: None,
        parent: None,
        is_served: false,
        token: None,
    };
    let filter = Filter {
        search: Some("IS IT".into()),
        limit: 10,
        ..Filter::default()
    };
    let page = Page {
        debates: vec![row.clone()],
        total: 1,
    };
    assert_eq!(store.list(&filter).await, Ok(page));
    assert_eq!(store.find(&id.to_string()[..13]).await, Ok(row));
}

async fn check_reopen(store: &Store, id: Uuid) {
    let lease = store.lease(id).await.unwrap();
    let reopened = keyed(
        8,
        Event::Reopened {
            generation: 1,
            from: None,
        },
    );
    lease.journal().append(vec![reopened]).await.unwrap();
    let row = store.get(id).await.unwrap().unwrap();
    assert_eq!((row.state, row.ended_at), (State::Running, None));
}

async fn check_delete(store: &Store, id: Uuid) {
    store.delete(id).await.unwrap();
    assert_eq!(store.get(id).await, Ok(None));
    assert_eq!(store.entries(id).await, Ok(vec![]));
    let gone = Err(LeaseError::NotFound { id });
    assert_eq!(store.delete(id).await, gone);
    let rating = Rating::new(1).unwrap();
    assert_eq!(store.rate(id, rating, None, 0).await, gone);
}

async fn c10_the_life_cycle_of_a_debate(test_store: TestStore) {
    let store = test_store.open().await;
    life_cycle(&store).await;
    store.close().await;
}

on_both!(c10_the_life_cycle_of_a_debate);
