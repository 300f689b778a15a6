use std::fs;
use std::path::Path;

use roundtable_engine::event::{Event, State};
use serde_json::json;

use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::{ended, keyed, opened, setup};

const CANARY: &str = "sassafras-4711";

/// A debate of about 400 KB with the canary in its question and in every entry.
async fn debate(store: &Store) -> Uuid {
    let question = format!("Why {CANARY}?");
    let id = Uuid::new_v4();
    let lease = store.create(id, &setup(&question), 1).await.unwrap();
    let note = |seq| Event::Noted {
        key: format!("n{seq}"),
        value: json!(format!("{CANARY} ").repeat(250)),
        started_at: 0,
    };
    let mut batch = vec![keyed(1, opened(&question))];
    batch.extend((2..=99).map(|seq| keyed(seq, note(seq))));
    batch.push(keyed(100, ended(State::Complete)));
    lease.journal().append(batch).await.unwrap();
    id
}

/// The files below a folder that contain the canary.
fn files_with_canary(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_canary(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            let canary = CANARY.as_bytes();
            if bytes.windows(canary.len()).any(|window| window == canary) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// C-14: after a deletion the text is in no file of the data folder, while the store is open and afterwards.
#[tokio::test]
async fn c14_deleted_text_is_in_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let id = debate(&store).await;
    assert!(!files_with_canary(folder.path()).is_empty());
    // A copy from before a migration.
    let copy = folder.path().join("roundtable.db.schema-4");
    store.back_up(&copy).await.unwrap();
    store.delete(id).await.unwrap();
    assert_eq!(files_with_canary(folder.path()), Vec::<String>::new());
    assert!(copy.exists());
    store.close().await;
    assert_eq!(files_with_canary(folder.path()), Vec::<String>::new());
}

/// C-14: the space of deleted debates is returned, and what is kept stays.
#[tokio::test]
async fn c14_compacting_returns_the_space_of_deleted_debates() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let kept = debate(&store).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(debate(&store).await);
    }
    let entries = store.entries(kept).await.unwrap();
    let size = || {
        fs::metadata(folder.path().join("roundtable.db"))
            .unwrap()
            .len()
    };
    let missing = Uuid::new_v4();
    let all = [ids.as_slice(), &[missing]].concat();
    let deleted = store.delete_all(&all).await.unwrap();
    assert_eq!((&deleted.deleted, deleted.in_use), (&ids, vec![]));
    let before = size();
    let freed = store.compact().await.unwrap().unwrap();
    assert_eq!(before - size(), freed);
    assert!(freed > before / 2, "{freed} of {before}");
    assert_eq!(store.entries(kept).await.unwrap(), entries);
    assert_eq!(store.check().await.unwrap().faults, Vec::<String>::new());
}

/// C-14: a debate that another process runs is not deleted.
async fn c14_running_debates_are_kept(test_store: TestStore) {
    let (store, other) = (test_store.open().await, test_store.open().await);
    let (ended, running) = (debate(&store).await, debate(&store).await);
    let lease = other.lease(running).await.unwrap();
    let deleted = store.delete_all(&[ended, running]).await.unwrap();
    assert_eq!(
        deleted,
        Deleted {
            deleted: vec![ended],
            in_use: vec![running]
        }
    );
    assert_eq!(lease.journal().load().await.unwrap().len(), 100);
    assert_eq!(
        store.compact().await.unwrap().is_some(),
        !test_store.is_postgres()
    );
}

on_both!(c14_running_debates_are_kept);
