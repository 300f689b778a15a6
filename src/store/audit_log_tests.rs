use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::audit_record;

async fn entries_are_numbered_and_read_by_page(test_store: TestStore) {
    let store = test_store.open().await;
    for action in ["a", "b", "c"] {
        store.append_audit(&audit_record(action)).await.unwrap();
    }
    let page = |before, limit| AuditSelection {
        before,
        limit,
        ..AuditSelection::default()
    };
    let read = async |selection| {
        let entries = store.audit_log(selection).await.unwrap();
        let entries = entries.into_iter();
        entries
            .map(|entry| (entry.number, entry.record.action))
            .collect::<Vec<_>>()
    };
    let expected = |number, action: &str| (number, action.to_owned());
    assert_eq!(
        read(page(None, 2)).await,
        [expected(3, "c"), expected(2, "b")]
    );
    assert_eq!(read(page(Some(2), 2)).await, [expected(1, "a")]);
    let later = AuditSelection {
        since: audit_record("a").at + 1,
        ..AuditSelection::default()
    };
    assert_eq!(read(later).await, []);
    let whole = store.audit_log(page(Some(2), 1)).await.unwrap();
    assert_eq!(whole[0].record, audit_record("a"));
}

/// A long or odd text is kept as far as possible, and does not fail the action that is recorded.
async fn long_and_odd_texts_are_recorded(test_store: TestStore) {
    let store = test_store.open().await;
    let odd = AuditRecord {
        detail: Some("x".repeat(5000)),
        subject: Some("a\0b".into()),
        ..audit_record("a")
    };
    store.append_audit(&odd).await.unwrap();
    let entry = store.audit_log(AuditSelection::default()).await.unwrap();
    let record = &entry[0].record;
    assert_eq!(record.subject.as_deref(), Some("a\u{fffd}b"));
    let detail = record.detail.as_deref().unwrap();
    assert_eq!(detail.chars().count(), MAX_TEXT_CHARS);
}

/// The start of an action is listed until its outcome is recorded, with other actions in between.
async fn a_start_without_an_outcome_is_listed(test_store: TestStore) {
    let store = test_store.open().await;
    let entry = |id: &str, outcome| AuditRecord {
        request_id: Some(id.to_owned()),
        outcome,
        ..audit_record("token-added")
    };
    for (id, outcome) in [
        ("1", AuditOutcome::Started),
        ("2", AuditOutcome::Started),
        ("1", AuditOutcome::Done),
        ("3", AuditOutcome::Started),
        ("3", AuditOutcome::Failed),
    ] {
        store.append_audit(&entry(id, outcome)).await.unwrap();
    }
    let listed = store.audit_log(AuditSelection::default()).await.unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|entry| (entry.number, entry.record.outcome))
        .collect();
    assert_eq!(
        listed,
        [
            (5, AuditOutcome::Failed),
            (3, AuditOutcome::Done),
            (2, AuditOutcome::Started)
        ]
    );
}

async fn an_entry_cannot_be_changed_or_deleted(test_store: TestStore) {
    let store = test_store.open().await;
    store.append_audit(&audit_record("a")).await.unwrap();
    for sql in [
        "UPDATE audit_log SET who = 'bob'",
        "DELETE FROM audit_log",
        "DELETE FROM audit_log WHERE number = 1",
    ] {
        let changed = store.writer.change(sqlx::query(sql)).await;
        let failure = changed.unwrap_err();
        assert!(failure.detail.contains("append-only"), "{failure:?}");
    }
    let kept = store.audit_log(AuditSelection::default()).await.unwrap();
    assert_eq!(kept[0].record, audit_record("a"));
    assert_eq!(kept.len(), 1);
}

/// Processes that record at the same time get different numbers.
async fn two_processes_record_at_the_same_time(test_store: TestStore) {
    let (first, second) = (test_store.open().await, test_store.open().await);
    let record = audit_record("a");
    let write = async |store: &Store| {
        for _ in 0..20 {
            store.append_audit(&record).await.unwrap();
        }
    };
    tokio::join!(write(&first), write(&second));
    let all = first.audit_log(AuditSelection::default()).await.unwrap();
    let numbers: Vec<u64> = all.iter().rev().map(|entry| entry.number).collect();
    assert_eq!(numbers, (1..=40).collect::<Vec<u64>>());
}

on_both!(
    entries_are_numbered_and_read_by_page,
    a_start_without_an_outcome_is_listed,
    long_and_odd_texts_are_recorded,
    an_entry_cannot_be_changed_or_deleted,
    two_processes_record_at_the_same_time
);
