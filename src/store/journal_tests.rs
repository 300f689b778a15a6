use std::time::Duration;

use roundtable_core::usage::Money;
use roundtable_engine::event::{Event, Spent, State};
use roundtable_engine::journal::JournalError;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::store::row::Totals;
use crate::store::row_delta::kind;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::{
    at, ended, entries, failed, finished, keyed, opened, setup, spent,
};
use crate::store::{Lease, Store};

async fn fresh(test_store: &TestStore) -> (Store, Lease) {
    let store = test_store.open().await;
    let lease = store
        .create(Uuid::new_v4(), &setup("Why?"), 5)
        .await
        .unwrap();
    (store, lease)
}

/// C-08: appended entries survive the process unchanged.
async fn c08_entries_survive_reopening_as_they_were_written(test_store: TestStore) {
    let (store, lease) = fresh(&test_store).await;
    let mut all = vec![keyed(1, opened("Why?"))];
    all.extend((2..=230).map(|seq| keyed(seq, finished(&format!("r{seq}/skeptic"), spent(None)))));
    for entry in &all {
        lease.journal().append(vec![entry.clone()]).await.unwrap();
    }
    let id = lease.id();
    drop((lease, store));

    let store = test_store.open().await;
    let lease = store.lease(id).await.unwrap();
    assert_eq!(lease.journal().load().await, Ok(entries(&all)));
    assert_eq!(lease.setup(), &setup("Why?"));
}

/// C-08: a batch with a duplicate key is rejected as a whole.
async fn c08_a_batch_with_a_duplicate_key_is_rejected_as_a_whole(test_store: TestStore) {
    let (_store, lease) = fresh(&test_store).await;
    let journal = lease.journal();
    let first = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(None))),
    ];
    journal.append(first.clone()).await.unwrap();

    let known = vec![
        keyed(3, finished("r1/b", spent(None))),
        keyed(4, finished("r1/a", spent(None))),
    ];
    let twice = vec![
        keyed(3, finished("r1/c", spent(None))),
        keyed(4, finished("r1/c", spent(None))),
    ];
    let numbered_wrongly = vec![keyed(2, finished("r1/d", spent(None)))];
    let duplicate = |key: &str| Err(JournalError::Duplicate { key: key.into() });
    assert_eq!(
        [
            journal.append(known).await,
            journal.append(twice).await,
            journal.append(numbered_wrongly).await,
        ],
        [duplicate("r1/a"), duplicate("r1/c"), duplicate("entry 2")]
    );
    assert_eq!(journal.load().await, Ok(entries(&first)));
}

/// C-11: totals include finished and failed steps; the cost is unknown if any step's price is.
async fn c11_totals_add_up(test_store: TestStore) {
    let (store, lease) = fresh(&test_store).await;
    let unasked = Spent {
        calls: 0,
        retries: 0,
        ..Spent::default()
    };
    let priced = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(Some(0.1)))),
        keyed(3, failed("r1/b", spent(Some(0.2)))),
        keyed(4, failed("r1/c", unasked)),
    ];
    lease.journal().append(priced).await.unwrap();
    let mut totals = Totals {
        calls: 4,
        retries: 2,
        input_tokens: 200,
        output_tokens: 40,
        cached_tokens: 120,
        cost_usd: Money::from_dollars(0.3),
    };
    let row = store.get(lease.id()).await.unwrap().unwrap();
    assert_eq!(row.totals, totals);

    let unpriced = [(5, None), (6, Some(0.1))]
        .map(|(seq, cost)| keyed(seq, finished(&format!("r{seq}"), spent(cost))));
    lease.journal().append(unpriced.into()).await.unwrap();
    totals.calls = 8;
    totals.retries = 4;
    totals.input_tokens = 400;
    totals.output_tokens = 80;
    totals.cached_tokens = 240;
    totals.cost_usd = None;
    let row = store.get(lease.id()).await.unwrap().unwrap();
    assert_eq!(row.totals, totals);
}

/// C-10: the row follows the events: running, ended, reopened, waiting for a person.
async fn c10_the_row_follows_the_journal(test_store: TestStore) {
    let (store, lease) = fresh(&test_store).await;
    let mut seen = Vec::new();
    for entry in [
        keyed(1, opened("Why?")),
        keyed(2, ended(State::Partial)),
        keyed(
            3,
            Event::Reopened {
                generation: 1,
                from: None,
            },
        ),
    ] {
        lease.journal().append(vec![entry]).await.unwrap();
        let row = store.get(lease.id()).await.unwrap().unwrap();
        seen.push((row.state, row.updated_at, row.ended_at));
    }
    let mut waiting = keyed(4, ended(State::Waiting));
    waiting.key = "ended!1".into();
    lease.journal().append(vec![waiting]).await.unwrap();
    let row = store.get(lease.id()).await.unwrap().unwrap();
    seen.push((row.state, row.updated_at, row.ended_at));
    assert_eq!(
        seen,
        [
            (State::Running, at(1), None),
            (State::Partial, at(2), Some(at(2))),
            (State::Running, at(3), None),
            (State::Waiting, at(4), None),
        ]
    );
}

/// C-08: a batch that does not fit on the disk is rolled back, and appends work again once there is space.
#[tokio::test]
async fn c08_a_full_disk_is_reported_and_recovered_from() {
    let test_store = TestStore::sqlite();
    let (store, lease) = fresh(&test_store).await;
    let journal = lease.journal();
    let first = vec![keyed(1, opened("Why?"))];
    journal.append(first.clone()).await.unwrap();
    // SQLite now behaves as if the disk were full.
    store.writer.run("PRAGMA max_page_count = 1").await;

    let large = |seq| Event::Noted {
        key: format!("n{seq}"),
        value: json!("x".repeat(100_000)),
        started_at: 0,
    };
    let refused = journal
        .append(vec![keyed(2, large(2)), keyed(3, large(3))])
        .await;
    assert!(
        matches!(refused, Err(JournalError::Full { .. })),
        "{refused:?}"
    );
    assert_eq!(journal.load().await, Ok(entries(&first)));

    store.writer.run("PRAGMA max_page_count = 1000000").await;
    let second = vec![keyed(2, large(2))];
    journal.append(second.clone()).await.unwrap();
    assert_eq!(journal.load().await, Ok(entries(&[first, second].concat())));
}

/// C-08: a read-only database is reported. `query_only` gives the same error code as a read-only file; file permissions would
/// not stop root, who may run these tests.
#[tokio::test]
async fn c08_a_read_only_database_is_reported() {
    let test_store = TestStore::sqlite();
    let (store, lease) = fresh(&test_store).await;
    store.writer.run("PRAGMA query_only = ON").await;
    let refused = lease.journal().append(vec![keyed(1, opened("Why?"))]).await;
    assert!(
        matches!(refused, Err(JournalError::ReadOnly { .. })),
        "{refused:?}"
    );
}

/// C-08: a read-only database on a server is reported.
#[tokio::test]
async fn c08_a_read_only_server_is_reported() {
    let test_store = TestStore::postgres();
    let (_store, lease) = fresh(&test_store).await;
    let database = test_store.database();
    let name = database.sql("SELECT current_database()");
    database.sql(&format!(
        "ALTER DATABASE {name} SET default_transaction_read_only = on"
    ));
    // The first append opens the appender's connection.
    let refused = lease.journal().append(vec![keyed(1, opened("Why?"))]).await;
    assert!(
        matches!(refused, Err(JournalError::ReadOnly { .. })),
        "{refused:?}"
    );
}

/// C-08: an append whose future is dropped is written completely or not at all, and does not block the next.
async fn c08_a_dropped_append_is_written_completely_or_not_at_all(test_store: TestStore) {
    let (_store, lease) = fresh(&test_store).await;
    let journal = lease.journal();
    let mut known = 0;
    for polls in 0..12 {
        let batch = [1, 2].map(|more| {
            let seq = known + more;
            keyed(seq, finished(&format!("r{polls}/{more}"), spent(None)))
        });
        let mut append = journal.append(batch.into());
        for _ in 0..polls {
            if futures::poll!(&mut append).is_ready() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        drop(append);
        let seqs: Vec<u64> = journal
            .load()
            .await
            .unwrap()
            .iter()
            .map(|entry| entry.seq)
            .collect();
        assert!(seqs.len().is_multiple_of(2), "half a batch: {seqs:?}");
        known = seqs.len() as u64;
    }
    assert!(known > 0, "no append ever completed");
}

/// C-08: a database that another process keeps locked is reported as locked.
#[tokio::test]
async fn c08_a_locked_database_is_reported() {
    let test_store = TestStore::sqlite();
    let (store, lease) = fresh(&test_store).await;
    let other = test_store.open().await;
    let _writing = other.writer.begin().await.unwrap();
    // Shortens the wait for this test.
    store.writer.run("PRAGMA busy_timeout = 1").await;
    let refused = lease.journal().append(vec![keyed(1, opened("Why?"))]).await;
    assert!(
        matches!(&refused, Err(JournalError::Unavailable { detail }) if detail.contains("locked")),
        "{refused:?}"
    );
}

#[test]
fn the_kind_is_the_json_tag() {
    let step = || String::from("r1/a");
    let events = [
        opened("Why?"),
        Event::RoundStarted {
            round: 1,
            name: "r".into(),
        },
        Event::Noted {
            key: "k".into(),
            value: Value::Null,
            started_at: 0,
        },
        Event::StepStarted {
            step: step(),
            seat: "a".into(),
            round: 1,
            model: "m".into(),
        },
        Event::Chunk {
            step: step(),
            seat: "a".into(),
            round: 1,
            offset: 0,
            text: "t".into(),
        },
        Event::StepRestarted {
            step: step(),
            reason: "r".into(),
        },
        finished("r1/a", spent(None)),
        failed("r1/a", spent(None)),
        ended(State::Complete),
        Event::Reopened {
            generation: 1,
            from: None,
        },
        Event::Rated {
            number: 1,
            rating: 5,
            comment: None,
        },
    ];
    let tag = |event: &Event| serde_json::to_value(event).unwrap()["kind"].clone();
    assert_eq!(
        events.each_ref().map(|event| Value::from(kind(event))),
        events.each_ref().map(tag)
    );
}

on_both!(
    c08_entries_survive_reopening_as_they_were_written,
    c08_a_batch_with_a_duplicate_key_is_rejected_as_a_whole,
    c11_totals_add_up,
    c10_the_row_follows_the_journal,
    c08_a_dropped_append_is_written_completely_or_not_at_all
);
