use roundtable_engine::event::State;
use uuid::Uuid;

use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::{ended, finished, keyed, opened, setup, spent};
use crate::store::{Rating, Resolution};

async fn debate(store: &Store, at: Millis) -> Uuid {
    let id = Uuid::new_v4();
    let lease = store.create(id, &setup("Why?"), at).await.unwrap();
    let mut batch = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(Some(0.1)))),
        keyed(3, ended(State::Complete)),
    ];
    for appended in &mut batch {
        appended.entry.at = at;
    }
    lease.journal().append(batch).await.unwrap();
    id
}

/// A debate changed at the cutoff is not older than it; rated and resolved debates can be kept.
async fn c14_old_debates_are_found(test_store: TestStore) {
    let store = test_store.open().await;
    let (old, rated, resolved, young) = (
        debate(&store, 99).await,
        debate(&store, 10).await,
        debate(&store, 11).await,
        debate(&store, 100).await,
    );
    let rating = Rating::new(5).unwrap();
    store.rate(rated, rating, None, 20).await.unwrap();
    let outcome = Resolution {
        outcome: Some("yes".into()),
        by: None,
        value: None,
    };
    store.resolve(resolved, outcome, 21).await.unwrap();
    let ids = async |keep| {
        let found = store.older_than(100, keep).await.unwrap();
        found.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(ids(Keep::Nothing).await, [rated, resolved, old]);
    assert_eq!(ids(Keep::Rated).await, [old]);
    assert!(!ids(Keep::Nothing).await.contains(&young));
}

/// A backup taken during writes is a valid store with a consistent snapshot.
#[tokio::test]
async fn a_backup_is_a_store_of_its_own() {
    let (test_store, other) = (TestStore::sqlite(), tempfile::tempdir().unwrap());
    let store = test_store.open().await;
    let id = debate(&store, 1).await;
    let running = store
        .create(Uuid::new_v4(), &setup("Still?"), 2)
        .await
        .unwrap();
    let file = other.path().join("roundtable.db");
    let journal = running.journal();
    let (backed_up, appended) = tokio::join!(
        store.back_up(&file),
        journal.append(vec![keyed(1, opened("Still?"))])
    );
    appended.unwrap();
    assert!(backed_up.unwrap() > 0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }
    let again = store.back_up(&file).await.unwrap_err();
    assert!(matches!(again, BackupError::Exists(_)), "{again}");
    let copy = Store::open(other.path()).await.unwrap();
    assert_eq!(copy.entries(id).await, store.entries(id).await);
    assert_eq!(copy.check().await.unwrap().faults, Vec::<String>::new());
}

/// C-10: a backup of a damaged store is written, but reported.
#[tokio::test]
async fn c10_a_backup_with_errors_is_reported() {
    let (test_store, other) = (TestStore::sqlite(), tempfile::tempdir().unwrap());
    let store = test_store.open().await;
    debate(&store, 1).await;
    let change = "UPDATE journal SET body = replace(body, 'too short', 'too Short') WHERE seq = 2";
    store.writer.run(change).await;
    let file = other.path().join("roundtable.db");
    let refused = store.back_up(&file).await.unwrap_err();
    let message = refused.to_string();
    assert!(
        message.contains("entry 2 (r1/a) does not match its checksum") && file.exists(),
        "{message}"
    );
}

#[tokio::test]
async fn a_backup_of_a_server_names_the_pg_dump_command() {
    let test_store = TestStore::postgres();
    let store = test_store.open().await;
    let refused = store.back_up(Path::new("x.dump")).await.unwrap_err();
    let message = refused.to_string();
    assert!(
        message.contains("pg_dump --format=custom --file=x.dump 'postgres://127.0.0.1:"),
        "{message}"
    );
}

on_both!(c14_old_debates_are_found);
