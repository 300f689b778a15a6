use roundtable_engine::event::State;

use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::{at, ended, finished, keyed, opened, setup, spent};
use crate::store::{CreateRequest, Created, Filter, Lease};

fn dollars(amount: f64) -> Money {
    Money::from_dollars(amount).unwrap()
}

async fn debate(store: &Store, token: Uuid, now: Millis, max_cost: Option<f64>) -> Box<Lease> {
    let mut setup = setup("Why?");
    setup.budget.max_cost = max_cost.map(dollars);
    let request = CreateRequest {
        token: Some(token),
        ..CreateRequest::default()
    };
    let id = Uuid::new_v4();
    let created = store.create_for_server(id, &setup, now, State::Running, &request);
    match created.await.unwrap() {
        Created::New(lease) => lease,
        other => panic!("{other:?}"),
    }
}

/// Costs count on the UTC day of their entries; running debates reserve the rest of their budget.
async fn costs_count_by_day_and_running_debates_reserve_their_budget(test_store: TestStore) {
    let store = test_store.open().await;
    let (token, other) = (Uuid::new_v4(), Uuid::new_v4());
    // The entries have the times at(1), at(2), …; the day begins with the third.
    let day = at(3);
    let old = debate(&store, token, at(0), Some(1.0)).await;
    let batch = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(Some(0.2)))),
        keyed(3, finished("r2/a", spent(Some(0.3)))),
    ];
    old.journal().append(batch).await.unwrap();
    let expected = Spending {
        spent: dollars(0.3),
        reserved: dollars(0.5),
        running: 1,
    };
    assert_eq!(store.spending(token, day).await.unwrap(), expected);

    // Without a limit of its own, nothing is reserved. One of today counts as a whole.
    let new = debate(&store, token, day, None).await;
    let batch = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(Some(0.1)))),
        keyed(3, ended(State::Complete)),
    ];
    new.journal().append(batch).await.unwrap();
    let expected = Spending {
        spent: dollars(0.4),
        ..expected
    };
    assert_eq!(store.spending(token, day).await.unwrap(), expected);

    // A budget that replaced the first one counts instead of it.
    let budget = Budget {
        max_cost: Some(dollars(3.0)),
        ..Budget::default()
    };
    store.set_budget(old.id(), &budget).await.unwrap();
    store.add_cost(token, day, dollars(0.01)).await.unwrap();
    store.add_cost(token, day - 1, dollars(7.0)).await.unwrap();
    let expected = Spending {
        spent: dollars(0.41),
        reserved: dollars(2.5),
        running: 1,
    };
    assert_eq!(store.spending(token, day).await.unwrap(), expected);
    assert_eq!(
        store.spending(other, day).await.unwrap(),
        Spending::default()
    );
}

/// Deleting a debate does not give its money back.
async fn the_cost_of_a_deleted_debate_still_counts(test_store: TestStore) {
    let store = test_store.open().await;
    let token = Uuid::new_v4();
    let lease = debate(&store, token, at(0), None).await;
    let batch = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(Some(0.2)))),
        keyed(3, ended(State::Complete)),
    ];
    lease.journal().append(batch).await.unwrap();
    let id = lease.id();
    drop(lease);
    let before = store.spending(token, at(0)).await.unwrap();
    assert_eq!(before.spent, dollars(0.2));
    // A released lease becomes visible a moment later.
    for _ in 0..100 {
        if store.delete(id).await.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(store.get(id).await.unwrap(), None);
    assert_eq!(store.spending(token, at(0)).await.unwrap(), before);
}

/// A listing of one token contains neither the debates of other tokens nor those without one, and does not count them.
async fn a_listing_of_a_token_has_its_debates_only(test_store: TestStore) {
    let store = test_store.open().await;
    let (ada, bob) = (Uuid::new_v4(), Uuid::new_v4());
    let own = debate(&store, ada, 1, None).await;
    debate(&store, bob, 2, None).await;
    store
        .create(Uuid::new_v4(), &setup("Why?"), 3)
        .await
        .unwrap();
    let listed = store
        .list(&Filter {
            token: Some(ada),
            ..Filter::default()
        })
        .await
        .unwrap();
    assert_eq!(listed.total, 1);
    assert_eq!(listed.debates[0].id, own.id());
    assert_eq!(listed.debates[0].token, Some(ada));
    assert_eq!(store.list(&Filter::default()).await.unwrap().total, 3);
}

on_both!(
    costs_count_by_day_and_running_debates_reserve_their_budget,
    the_cost_of_a_deleted_debate_still_counts,
    a_listing_of_a_token_has_its_debates_only
);
