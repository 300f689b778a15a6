use std::fs;

use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::{Address, Scope, StoreError, TokenRow};

fn token(name: &str) -> TokenRow {
    TokenRow::new(name.into(), Scope::Run, [1; 32], 1)
}

/// A server must not open again because its last token is gone.
async fn a_store_remembers_that_it_had_tokens(test_store: TestStore) {
    let store = test_store.open().await;
    assert_eq!(store.had_tokens().await, Ok(false));
    store.add_token(&token("ada")).await.unwrap();
    store.add_token(&token("bob")).await.unwrap();
    store.revoke_token("ada").await.unwrap();
    store.revoke_token("bob").await.unwrap();
    store.close().await;
    let store = test_store.open().await;
    assert_eq!(store.had_tokens().await, Ok(true));
}

/// A token of a version before migration 5 counts as well.
async fn a_migrated_store_remembers_its_tokens(test_store: TestStore) {
    for (has_token, sql) in [
        (false, "DELETE FROM tokens"),
        (
            true,
            "INSERT INTO tokens (id, name, scope, hash, created_at) VALUES ('1', 'ada', 'run', '00', 1)",
        ),
    ] {
        let store = test_store.open().await;
        for sql in [
            "DROP TABLE server_flags",
            "ALTER TABLE sessions DROP COLUMN created_at",
            "ALTER TABLE sessions DROP COLUMN last_used_at",
            "ALTER TABLE tokens DROP COLUMN expires_at",
            "ALTER TABLE tokens DROP COLUMN last_used_at",
            "ALTER TABLE tokens DROP COLUMN old_hash",
            "ALTER TABLE tokens DROP COLUMN old_valid_until",
            "DELETE FROM _sqlx_migrations WHERE version = 5",
            sql,
        ] {
            store.writer.run(sql).await;
        }
        store.close().await;
        let store = test_store.open().await;
        assert_eq!(store.had_tokens().await, Ok(has_token));
        store.close().await;
    }
}

on_both!(
    a_store_remembers_that_it_had_tokens,
    a_migrated_store_remembers_its_tokens,
);

fn damage(test_store: &TestStore) -> std::path::PathBuf {
    let Address::Folder(folder) = test_store.address() else {
        unreachable!("a file")
    };
    fs::write(folder.join("roundtable.db"), "x".repeat(1_000)).unwrap();
    folder
}

#[tokio::test]
async fn an_empty_database_after_a_damaged_one_is_marked_until_it_is_accepted() {
    let test_store = TestStore::sqlite();
    let store = test_store.open().await;
    assert_eq!(store.replaces_damaged().await, Ok(None));
    store.close().await;
    let folder = damage(&test_store);
    let refused = Store::at(&test_store.address()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
    let kept_as = folder.join("roundtable.db.corrupt-1").display().to_string();
    // Commands that open the store do not remove the mark.
    for _ in 0..2 {
        let store = test_store.open().await;
        assert_eq!(store.replaces_damaged().await, Ok(Some(kept_as.clone())));
        store.close().await;
    }
    let store = test_store.open().await;
    store.accept_replacement().await.unwrap();
    assert_eq!(store.replaces_damaged().await, Ok(None));
    store.close().await;
    let store = test_store.open().await;
    assert_eq!(store.replaces_damaged().await, Ok(None));
}

#[tokio::test]
async fn a_restored_database_is_not_marked() {
    let test_store = TestStore::sqlite();
    let store = test_store.open().await;
    store.add_token(&token("ada")).await.unwrap();
    let backup = tempfile::tempdir().unwrap();
    let backup = backup.path().join("backup.db");
    store.back_up(&backup).await.unwrap();
    store.close().await;
    let folder = damage(&test_store);
    Store::at(&test_store.address()).await.unwrap_err();
    fs::copy(backup, folder.join("roundtable.db")).unwrap();
    let store = test_store.open().await;
    assert_eq!(store.replaces_damaged().await, Ok(None));
    assert_eq!(store.had_tokens().await, Ok(true));
}
