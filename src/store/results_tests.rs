use std::sync::Arc;

use roundtable_engine::event::{End, Event, State};
use serde_json::json;
use uuid::Uuid;

use super::super::test_stores::{TestStore, on_both};
use super::super::{DebateRow, Filter, test_support};

fn end(answer: Option<&str>) -> Event {
    Event::Ended(Arc::new(End {
        state: State::Complete,
        reason: None,
        result: answer.map(|answer| json!({ "final_answer": answer })),
    }))
}

/// C-14: a list shows results, those of the last end of each debate, in one query.
async fn c14_a_list_has_the_last_result_of_each_debate(test_store: TestStore) {
    let store = test_store.open().await;
    let setup = test_support::setup("Why?");
    let mut ids = Vec::new();
    for (number, answers) in (1..).zip([
        vec![Some("**Because** it rains.")],
        vec![Some("First."), Some("Second.")],
        vec![None],
        vec![],
    ]) {
        let lease = store.create(Uuid::new_v4(), &setup, number).await.unwrap();
        for (seq, answer) in (1..).zip(answers) {
            let mut entry = test_support::keyed(seq, end(answer));
            // A debate that is resumed ends again.
            entry.key = format!("ended!{seq}");
            lease.journal().append(vec![entry]).await.unwrap();
        }
        ids.push(lease.id());
    }
    let mut rows = store.list(&Filter::default()).await.unwrap().debates;
    assert!(rows.iter().all(|row| row.result.is_none()));
    let before = store.reads.load(std::sync::atomic::Ordering::Relaxed);
    store.add_results(&mut rows).await.unwrap();
    let after = store.reads.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(after - before, 1);
    let result = |id: &Uuid| {
        let row: &DebateRow = rows.iter().find(|row| row.id == *id).unwrap();
        row.result.as_deref()
    };
    let results: Vec<Option<&str>> = ids.iter().map(result).collect();
    assert_eq!(
        results,
        [Some("Because it rains."), Some("Second."), None, None]
    );
}

on_both!(c14_a_list_has_the_last_result_of_each_debate);
