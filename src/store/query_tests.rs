use roundtable_engine::event::{Setup, State};
use serde_json::json;
use uuid::Uuid;

use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::{ended, finished, keyed, opened, setup, spent};
use crate::store::{Filter, FindError, Store};

fn id(text: &str) -> Uuid {
    text.parse().unwrap()
}

const FIRST: &str = "aaaa0000-0000-4000-8000-000000000001";
const SECOND: &str = "aaaa1111-0000-4000-8000-000000000002";
const THIRD: &str = "bbbb0000-0000-4000-8000-000000000003";

async fn three_debates(store: &Store) {
    let judged = Setup {
        protocol: "councils".into(),
        ..setup("100% sure_ of it!")
    };
    store
        .create(id(FIRST), &setup("Is Rust FAST?"), 1_000)
        .await
        .unwrap();
    store.create(id(SECOND), &judged, 2_000).await.unwrap();
    let lease = store
        .create(id(THIRD), &setup("Is it so?"), 3_000)
        .await
        .unwrap();
    lease
        .journal()
        .append(vec![keyed(1, ended(State::Complete))])
        .await
        .unwrap();
}

async fn listed(store: &Store, filter: Filter) -> (Vec<String>, u64) {
    let page = store.list(&filter).await.unwrap();
    let ids = page.debates.iter().map(|row| row.id.to_string()).collect();
    (ids, page.total)
}

/// C-14: lists newest first, filtered by state, protocol and text, in pages.
async fn c14_debates_are_listed(test_store: TestStore) {
    let store = test_store.open().await;
    three_debates(&store).await;
    let all = Filter::default;
    let search = |text: &str| Filter {
        search: Some(text.into()),
        ..all()
    };
    let none = (vec![], 0);
    assert_eq!(
        listed(&store, all()).await,
        (vec![THIRD.into(), SECOND.into(), FIRST.into()], 3)
    );
    assert_eq!(
        listed(
            &store,
            Filter {
                limit: 1,
                offset: 1,
                ..all()
            }
        )
        .await,
        (vec![SECOND.into()], 3)
    );
    assert_eq!(
        listed(
            &store,
            Filter {
                state: Some(State::Complete),
                ..all()
            }
        )
        .await,
        (vec![THIRD.into()], 1)
    );
    assert_eq!(
        listed(
            &store,
            Filter {
                protocol: Some("councils".into()),
                ..all()
            }
        )
        .await,
        (vec![SECOND.into()], 1)
    );
    assert_eq!(
        listed(&store, search("rust fast")).await,
        (vec![FIRST.into()], 1)
    );
    assert_eq!(
        listed(&store, search("% sure_ of it!")).await,
        (vec![SECOND.into()], 1)
    );
    assert_eq!(listed(&store, search("Rust_FAST")).await, none);
    assert_eq!(
        store.ids().await,
        Ok(vec![id(FIRST), id(SECOND), id(THIRD)])
    );
}

/// C-14: an id may be shortened to an unambiguous prefix.
async fn c14_a_debate_is_found_by_id_prefix(test_store: TestStore) {
    let store = test_store.open().await;
    assert_eq!(store.find("last").await, Err(FindError::Empty));
    three_debates(&store).await;
    let found = async |wanted: &str| store.find(wanted).await.map(|row| row.id);
    let missing = |wanted: &str| {
        Err(FindError::NotFound {
            wanted: wanted.into(),
        })
    };
    assert_eq!(found("bb").await, Ok(id(THIRD)));
    assert_eq!(found("AAAA1").await, Ok(id(SECOND)));
    assert_eq!(found(FIRST).await, Ok(id(FIRST)));
    assert_eq!(found("last").await, Ok(id(THIRD)));
    assert_eq!(found("").await, missing(""));
    assert_eq!(found("%").await, missing("%"));
    assert_eq!(found("cc").await, missing("cc"));
    let ambiguous = FindError::Ambiguous {
        wanted: "aa".into(),
        candidates: vec![
            store.get(id(SECOND)).await.unwrap().unwrap(),
            store.get(id(FIRST)).await.unwrap().unwrap(),
        ],
    };
    assert_eq!(
        ambiguous.to_string(),
        format!("several debate ids start with 'aa': {SECOND}, {FIRST}; use a longer prefix")
    );
    assert_eq!(store.find("aa").await, Err(ambiguous));
}

/// C-14: the output of `list --json`.
async fn c14_a_row_is_plain_json(test_store: TestStore) {
    let store = test_store.open().await;
    let lease = store
        .create(id(FIRST), &setup("Why?"), 1_800_000_000_000)
        .await
        .unwrap();
    let batch = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(Some(0.25)))),
        keyed(3, ended(State::Complete)),
    ];
    lease.journal().append(batch).await.unwrap();
    let row = store.find("last").await.unwrap();
    assert_eq!(
        serde_json::to_value(row).unwrap(),
        json!({
            "id": FIRST,
            "protocol": "dialectic",
            "question": "Why?",
            "state": "complete",
            "created_at": "2027-01-15T08:00:00.000Z",
            "updated_at": "2027-01-15T08:00:00.003Z",
            "ended_at": "2027-01-15T08:00:00.003Z",
            "totals": {
                "calls": 2,
                "retries": 1,
                "input_tokens": 100,
                "output_tokens": 20,
                "cached_tokens": 60,
                "cost_usd": 0.25,
            },
            "rating": null,
        })
    );
}

on_both!(
    c14_debates_are_listed,
    c14_a_debate_is_found_by_id_prefix,
    c14_a_row_is_plain_json
);
