use std::sync::Arc;

use roundtable_engine::event::{End, Event, State};

use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support;
use crate::store::{CreateRequest, Filter};

async fn debate(store: &Store, at: Millis, token: Option<Uuid>) -> Uuid {
    let id = Uuid::new_v4();
    let setup = test_support::setup("Why?");
    let request = CreateRequest {
        token,
        ..CreateRequest::default()
    };
    let created = store
        .create_for_server(id, &setup, at, State::Queued, &request)
        .await;
    drop(created.unwrap());
    id
}

fn filing(is_pinned: bool, tags: &[&str]) -> Filing {
    Filing {
        is_pinned,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
    }
}

async fn debates_are_filed_and_found_by_tag_and_pin(test_store: TestStore) {
    let store = test_store.open().await;
    let mine = Uuid::new_v4();
    let (first, second) = (
        debate(&store, 1, None).await,
        debate(&store, 2, Some(mine)).await,
    );
    store
        .file(first, &filing(true, &["ops", "q'1"]))
        .await
        .unwrap();
    store.file(second, &filing(false, &["ops"])).await.unwrap();
    let all = store
        .filings(&[first, second, Uuid::new_v4()])
        .await
        .unwrap();
    assert_eq!(all[&first], filing(true, &["ops", "q'1"]));
    assert_eq!(all[&second], filing(false, &["ops"]));
    assert_eq!(all.len(), 2);
    let found = async |filter: Filter| {
        let page = store.list(&filter).await.unwrap();
        assert_eq!(page.total, page.debates.len() as u64);
        page.debates.iter().map(|row| row.id).collect::<Vec<_>>()
    };
    let tagged = |tag: &str| Filter {
        tag: Some(tag.into()),
        ..Filter::default()
    };
    assert_eq!(found(tagged("ops")).await, [second, first]);
    assert_eq!(found(tagged("q'1")).await, [first]);
    assert_eq!(found(tagged("o%")).await, Vec::<Uuid>::new());
    let pinned = Filter {
        is_pinned: true,
        ..Filter::default()
    };
    assert_eq!(found(pinned).await, [first]);
    assert_eq!(store.all_tags(None).await.unwrap(), ["ops", "q'1"]);
    assert_eq!(store.all_tags(Some(mine)).await.unwrap(), ["ops"]);
    // Filed again, the old filing is gone; deleting the debate deletes it.
    store.file(first, &Filing::default()).await.unwrap();
    assert_eq!(store.filings(&[first]).await.unwrap(), BTreeMap::new());
    store.delete(second).await.unwrap();
    assert_eq!(store.all_tags(None).await.unwrap(), Vec::<String>::new());
}

async fn usage_is_added_up_by_period_and_token(test_store: TestStore) {
    let store = test_store.open().await;
    let mine = Uuid::new_v4();
    for (at, token) in [(10, None), (19, Some(mine)), (20, None), (99, None)] {
        debate(&store, at, token).await;
    }
    let counts = async |token| {
        let usage = store.usage_by_period(&[10, 20, 90], token).await.unwrap();
        usage
            .iter()
            .map(|period| (period.since, period.debates))
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(None).await, [(10, 2), (20, 1), (90, 1)]);
    assert_eq!(counts(Some(mine)).await, [(10, 1), (20, 0), (90, 0)]);
}

async fn a_search_finds_words_of_answers(test_store: TestStore) {
    let store = test_store.open().await;
    let setup = test_support::setup("Why?");
    let lease = store.create(Uuid::new_v4(), &setup, 1).await.unwrap();
    let id = lease.id();
    let end = End {
        state: State::Complete,
        reason: None,
        result: Some(serde_json::json!({ "final_answer": "Say \"Hello\",\nthen leave 100%" })),
    };
    let last = test_support::keyed(1, Event::Ended(Arc::new(end)));
    lease.journal().append(vec![last]).await.unwrap();
    let found = async |words: &str| {
        let filter = Filter {
            search: Some(words.into()),
            ..Filter::default()
        };
        store
            .list(&filter)
            .await
            .unwrap()
            .debates
            .iter()
            .any(|row| row.id == id)
    };
    for words in ["hello", "\"Hello\",\nthen", "WHY", "100%"] {
        assert!(found(words).await, "{words}");
    }
    for words in ["goodbye", "1%0", "final_answer_"] {
        assert!(!found(words).await, "{words}");
    }
}

on_both!(
    debates_are_filed_and_found_by_tag_and_pin,
    usage_is_added_up_by_period_and_token,
    a_search_finds_words_of_answers,
);
