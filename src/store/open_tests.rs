use std::fs;
use std::path::Path;

use roundtable_engine::event::Event;
use serde_json::json;
use sqlx::{Executor, Row};
use uuid::Uuid;

use crate::store::test_stores::TestStore;
use crate::store::test_support::{keyed, setup};
use crate::store::{Address, Store, StoreError};

const DATABASE: &str = "roundtable.db";

fn kept_as(folder: &Path, number: u32) -> StoreError {
    StoreError::Corrupt {
        kept_as: folder.join(format!("{DATABASE}.corrupt-{number}")),
    }
}

#[tokio::test]
async fn every_connection_is_durable_and_files_are_private() {
    let parent = tempfile::tempdir().unwrap();
    // Special characters in a path have no meaning.
    let folder = parent.path().join("a b%41?mode=ro#é");
    let store = Store::open(&folder).await.unwrap();
    let mut settings = Vec::new();
    for pragma in [
        "PRAGMA synchronous",
        "PRAGMA foreign_keys",
        "PRAGMA busy_timeout",
    ] {
        let written = store.writer.run(pragma).await.unwrap();
        let read = store.reader.fetch_one(pragma).await.unwrap();
        settings.push([written, read].map(|row| row.get::<i64, _>(0)));
    }
    assert_eq!(settings, [[2, 2], [1, 1], [5_000, 5_000]]);
    let mode = store.writer.run("PRAGMA journal_mode").await.unwrap();
    assert_eq!(mode.get::<&str, _>(0), "wal");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&folder), mode(&folder.join(DATABASE))),
            (0o700, 0o600)
        );
    }
}

/// A folder that was created by hand or by an installer is closed to other users; one with other content is not touched.
#[cfg(unix)]
#[tokio::test]
async fn an_existing_data_folder_is_tightened() {
    use std::os::unix::fs::PermissionsExt;
    let open = async |folder: &Path| {
        let opened = fs::set_permissions(folder, fs::Permissions::from_mode(0o755));
        opened.unwrap();
        Store::open(folder).await.unwrap().close().await;
        fs::metadata(folder).unwrap().permissions().mode() & 0o777
    };
    let parent = tempfile::tempdir().unwrap();
    let (own, shared) = (parent.path().join("own"), parent.path().join("shared"));
    fs::create_dir(&own).unwrap();
    assert_eq!(open(&own).await, 0o700, "empty");
    assert_eq!(open(&own).await, 0o700, "with our database");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("notes.txt"), "").unwrap();
    for _ in 0..2 {
        assert_eq!(open(&shared).await, 0o755, "with other files");
    }
}

/// Every damaged database is kept under its own name, and the next run starts with an empty one.
#[tokio::test]
async fn a_file_that_is_not_a_database_is_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    for (number, noise) in [(1, "x"), (2, "not a database ")] {
        let noise = noise.repeat(1_000);
        fs::write(folder.path().join(DATABASE), &noise).unwrap();
        let refused = Store::open(folder.path()).await.unwrap_err();
        assert_eq!(refused, kept_as(folder.path(), number));
        let kept = folder.path().join(format!("{DATABASE}.corrupt-{number}"));
        assert_eq!(fs::read_to_string(kept).unwrap(), noise);
        Store::open(folder.path()).await.unwrap().close().await;
    }
    let first = folder.path().join(format!("{DATABASE}.corrupt-1"));
    assert_eq!(fs::read_to_string(first).unwrap(), "x".repeat(1_000));
}

#[tokio::test]
async fn the_wal_of_a_missing_database_is_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("roundtable.db-wal"), "the only copy").unwrap();
    let refused = Store::open(folder.path()).await.unwrap_err();
    assert_eq!(refused, kept_as(folder.path(), 1));
    let kept = folder.path().join(format!("{DATABASE}.corrupt-1-wal"));
    assert_eq!(fs::read_to_string(kept).unwrap(), "the only copy");
    Store::open(folder.path()).await.unwrap();
}

/// Damage that opening does not read is reported when it is read; the next opening checks and moves the file aside.
#[tokio::test]
async fn damage_found_later_is_moved_aside_by_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let lease = store
        .create(Uuid::new_v4(), &setup("Why?"), 5)
        .await
        .unwrap();
    let large = |seq| Event::Noted {
        key: format!("n{seq}"),
        value: json!("x".repeat(2_000)),
        started_at: 0,
    };
    let batch = (1..=200).map(|seq| keyed(seq, large(seq))).collect();
    lease.journal().append(batch).await.unwrap();
    let id = lease.id();
    drop(lease);
    store.close().await;

    let path = folder.path().join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    // Opening reads only pages before this.
    let end = bytes.len() / 4 * 3;
    bytes[end..].fill(0xff);
    fs::write(&path, &bytes).unwrap();

    let store = Store::open(folder.path()).await.unwrap();
    let refused = store.entries(id).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
    store.close().await;
    assert_eq!(
        Store::open(folder.path()).await.unwrap_err(),
        kept_as(folder.path(), 1)
    );
    assert_eq!(
        Store::open(folder.path()).await.unwrap().ids().await,
        Ok(vec![])
    );
}

#[tokio::test]
async fn a_false_suspect_marker_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).await.unwrap().close().await;
    let marker = folder.path().join("roundtable.db.suspect");
    fs::write(&marker, "").unwrap();
    Store::open(folder.path()).await.unwrap();
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(DATABASE);
    let store = Store::open(folder.path()).await.unwrap();
    let from_the_future = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                           VALUES (9999, 'later', 1, x'00', 0)";
    store.writer.run(from_the_future).await;
    store.close().await;
    let before = fs::read(&path).unwrap();

    let refused = Store::open(folder.path()).await.unwrap_err();
    assert_eq!(
        refused,
        StoreError::Newer {
            path: path.clone(),
            version: 9999
        }
    );
    assert!(fs::read(&path).unwrap() == before, "the file was changed");
}

#[tokio::test]
async fn a_database_of_another_build_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(DATABASE);
    let store = Store::open(folder.path()).await.unwrap();
    store
        .writer
        .run("UPDATE _sqlx_migrations SET checksum = x'00'")
        .await;
    store.close().await;
    let refused = Store::open(folder.path()).await.unwrap_err();
    assert_eq!(refused, StoreError::Foreign { path, version: 1 });
}

/// C-10: the same on a server.
#[tokio::test]
async fn c10_a_newer_database_on_a_server_is_left_alone() {
    let test_store = TestStore::postgres();
    test_store.open().await.close().await;
    let database = test_store.database();
    database.sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'later', true, '\\x00', 0)",
    );
    let refused = Store::at(&test_store.address()).await.unwrap_err();
    assert_eq!(
        refused,
        StoreError::Newer {
            path: test_store.address().to_string().into(),
            version: 9999
        }
    );
    database.sql(
        "DELETE FROM _sqlx_migrations WHERE version = 9999; UPDATE _sqlx_migrations SET checksum = '\\x00' WHERE version = 2",
    );
    let refused = Store::at(&test_store.address()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Foreign { version: 2, .. }),
        "{refused}"
    );
}

/// C-10: an unreachable server or missing database is reported without the password.
#[tokio::test]
async fn c10_a_server_that_cannot_be_used_is_reported() {
    let test_store = TestStore::postgres();
    let database = test_store.database();
    let missing = format!("{}x", database.url());
    let refused = Store::at(&Address::parse(&missing)).await.unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("does not exist"), "{message}");
    let unreachable = "postgres://ada:secret@127.0.0.1:1/debates";
    let refused = Store::at(&Address::parse(unreachable)).await.unwrap_err();
    let message = refused.to_string();
    assert!(
        message.contains("postgres://127.0.0.1:1/debates") && !message.contains("secret"),
        "{message}"
    );
}

#[tokio::test]
async fn a_path_through_a_file_is_rejected() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("data")] {
        let refused = Store::open(&path).await.unwrap_err();
        assert_eq!(refused, StoreError::NotAFolder { path });
    }
}

/// Uses a folder where not even root can create anything.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_cannot_be_created_is_read_only() {
    let path = Path::new("/sys/roundtable");
    if !Path::new("/sys/kernel").exists() {
        return; // In some containers the folder could be created.
    }
    let refused = Store::open(path).await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::ReadOnly { path: named, .. } if named == path),
        "{refused:?}"
    );
}

/// Opening waits for another process, but not forever.
#[tokio::test]
async fn a_locked_folder_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).await.unwrap().close().await;
    let other = fs::File::open(folder.path().join("locks/opening.lock")).unwrap();
    other.lock().unwrap();
    tokio::time::pause();
    let refused = Store::open(folder.path()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused:?}");
}
