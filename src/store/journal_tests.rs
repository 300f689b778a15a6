use std::time::Duration;

use roundtable_core::usage::Money;
use roundtable_engine::event::{Event, Spent, State};
use roundtable_engine::journal::JournalError;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::store::fixtures::{at, ended, entries, failed, finished, keyed, opened, setup, spent};
use crate::store::row::Totals;
use crate::store::row_delta::kind;
use crate::store::test_stores::{Place, on_both};
use crate::store::{Lease, Store};

async fn fresh(place: &Place) -> (Store, Lease) {
    let store = place.open().await;
    let lease = store
        .create(Uuid::new_v4(), &setup("Why?"), 5)
        .await
        .unwrap();
    (store, lease)
}

/// C-08: what was appended is there, to the last bit, after the process is gone.
async fn c08_entries_survive_reopening_as_they_were_written(place: Place) {
    let (store, lease) = fresh(&place).await;
    let mut all = vec![keyed(1, opened("Why?"))];
    all.extend((2..=230).map(|seq| keyed(seq, finished(&format!("r{seq}/skeptic"), spent(None)))));
    for one in &all {
        lease.journal().append(vec![one.clone()]).await.unwrap();
    }
    let id = lease.id();
    drop((lease, store));

    let store = place.open().await;
    let lease = store.lease(id).await.unwrap();
    assert_eq!(lease.journal().load().await, Ok(entries(&all)));
    assert_eq!(lease.setup(), &setup("Why?"));
}

/// C-08: a step that is there already is not written twice, and nothing that came with it is written.
async fn c08_a_batch_with_a_known_key_is_refused_whole(place: Place) {
    let (_store, lease) = fresh(&place).await;
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

/// C-11: totals of finished and failed steps; the cost is unknown as soon as one paid step's price is.
async fn c11_totals_add_up(place: Place) {
    let (store, lease) = fresh(&place).await;
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
async fn c10_the_row_follows_the_journal(place: Place) {
    let (store, lease) = fresh(&place).await;
    let mut seen = Vec::new();
    for one in [
        keyed(1, opened("Why?")),
        keyed(2, ended(State::Partial)),
        keyed(3, Event::Reopened { generation: 1 }),
    ] {
        lease.journal().append(vec![one]).await.unwrap();
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

/// C-08: a disk that is full takes nothing half, and writing goes on once there is space.
#[tokio::test]
async fn c08_a_full_disk_is_said_and_recovered_from() {
    let place = Place::folder();
    let (store, lease) = fresh(&place).await;
    let journal = lease.journal();
    let first = vec![keyed(1, opened("Why?"))];
    journal.append(first.clone()).await.unwrap();
    // SQLite then behaves as if the file system refused another page.
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

/// C-08: a database that turned read-only is named as such. (`SQLite` refuses with the same code as for a read-only
/// file; file permissions themselves do not bind the administrator who may run these tests.)
#[tokio::test]
async fn c08_a_database_that_cannot_be_written_is_said() {
    let place = Place::folder();
    let (store, lease) = fresh(&place).await;
    store.writer.run("PRAGMA query_only = ON").await;
    let refused = lease.journal().append(vec![keyed(1, opened("Why?"))]).await;
    assert!(
        matches!(refused, Err(JournalError::ReadOnly { .. })),
        "{refused:?}"
    );
}

/// C-08: the same on a server.
#[tokio::test]
async fn c08_a_server_that_cannot_be_written_is_said() {
    let place = Place::server();
    let (_store, lease) = fresh(&place).await;
    let Place::Server(database) = &place else {
        unreachable!()
    };
    let name = database.sql("SELECT current_database()");
    database.sql(&format!(
        "ALTER DATABASE {name} SET default_transaction_read_only = on"
    ));
    // The connection for appends is made with the first of them.
    let refused = lease.journal().append(vec![keyed(1, opened("Why?"))]).await;
    assert!(
        matches!(refused, Err(JournalError::ReadOnly { .. })),
        "{refused:?}"
    );
}

/// C-08: an append that is given up half-way leaves all or nothing, and does not stand in the way of the next.
async fn c08_an_append_that_is_given_up_leaves_all_or_nothing(place: Place) {
    let (_store, lease) = fresh(&place).await;
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
    assert!(known > 0, "no append ever came to its end");
}

/// C-08: a database that another process does not let go of is said to be locked.
#[tokio::test]
async fn c08_a_database_that_stays_locked_is_said() {
    let place = Place::folder();
    let (store, lease) = fresh(&place).await;
    let other = place.open().await;
    let _writing = other.writer.begin().await.unwrap();
    // So that the test need not wait as long as the program does.
    store.writer.run("PRAGMA busy_timeout = 1").await;
    let refused = lease.journal().append(vec![keyed(1, opened("Why?"))]).await;
    assert!(
        matches!(&refused, Err(JournalError::Unavailable { detail }) if detail.contains("locked")),
        "{refused:?}"
    );
}

#[test]
fn the_kind_is_the_tag_of_the_json() {
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
        Event::Reopened { generation: 1 },
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
    c08_a_batch_with_a_known_key_is_refused_whole,
    c11_totals_add_up,
    c10_the_row_follows_the_journal,
    c08_an_append_that_is_given_up_leaves_all_or_nothing
);
