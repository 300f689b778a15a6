use roundtable_engine::event::Setup;
use roundtable_engine::parent::Parent;

use super::*;
use crate::store::Filter;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::setup;

fn following(parent: Uuid, question: &str) -> Setup {
    let parent = Parent {
        id: parent.to_string(),
        question: "Why?".into(),
        answer: "Because.".into(),
        open: Vec::new(),
        dissent: Vec::new(),
        earlier: Vec::new(),
    };
    Setup {
        parent: Some(Box::new(parent)),
        ..setup(question)
    }
}

fn ids(rows: &[DebateRow]) -> Vec<Uuid> {
    rows.iter().map(|row| row.id).collect()
}

/// B-14: a thread has the debates before one and its follow-ups. A deleted parent leaves the follow-up as it is.
async fn b14_debates_form_threads(test_store: TestStore) {
    let store = test_store.open().await;
    let [first, second, third, other] = [(); 4].map(|()| Uuid::new_v4());
    store.create(first, &setup("Why?"), 1).await.unwrap();
    for (id, parent, at) in [(second, first, 2), (other, first, 3), (third, second, 4)] {
        let setup = following(parent, &"And how? ".repeat(100));
        store.create(id, &setup, at).await.unwrap();
    }
    let thread = async |id| {
        let row = store.get(id).await.unwrap().unwrap();
        store.thread(&row, None).await.unwrap()
    };
    let of_first = thread(first).await;
    assert_eq!(
        (ids(&of_first.before), ids(&of_first.follow_ups)),
        (vec![], vec![second, other])
    );
    let of_third = thread(third).await;
    assert_eq!(
        (ids(&of_third.before), ids(&of_third.follow_ups)),
        (vec![first, second], vec![])
    );
    assert!(of_third.before[1].question.chars().count() <= 501);
    let listed = store.list(&Filter::default()).await.unwrap().debates;
    let parents: Vec<_> = listed.iter().map(|row| row.parent).collect();
    assert_eq!(parents, [Some(second), Some(first), Some(first), None]);

    store.delete(second).await.unwrap();
    let orphan = store.get(third).await.unwrap().unwrap();
    assert_eq!(orphan.parent, Some(second));
    assert_eq!(thread(third).await, Thread::default());
    assert_eq!(ids(&thread(first).await.follow_ups), [other]);
    assert_eq!(
        store
            .setup(third)
            .await
            .unwrap()
            .unwrap()
            .parent
            .unwrap()
            .answer,
        "Because."
    );
}

/// B-14: a token sees only its own debates of a thread.
async fn b14_a_thread_has_only_what_a_token_sees(test_store: TestStore) {
    let store = test_store.open().await;
    let [first, second] = [(); 2].map(|()| Uuid::new_v4());
    store.create(first, &setup("Why?"), 1).await.unwrap();
    store
        .create(second, &following(first, "And how?"), 2)
        .await
        .unwrap();
    let row = store.get(first).await.unwrap().unwrap();
    let seen = store.thread(&row, Some(Uuid::new_v4())).await.unwrap();
    assert_eq!(seen, Thread::default());
    assert_eq!(store.thread(&row, None).await.unwrap().follow_ups.len(), 1);
}

on_both!(
    b14_debates_form_threads,
    b14_a_thread_has_only_what_a_token_sees,
);
