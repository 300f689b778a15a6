use std::fs;
use std::path::Path;

use roundtable_engine::event::Event;
use serde_json::json;
use sqlx::{Executor, Row};
use uuid::Uuid;

use crate::store::fixtures::{keyed, setup};
use crate::store::test_stores::Place;
use crate::store::{Address, Store, StoreError};

const DATABASE: &str = "roundtable.db";

fn kept_as(folder: &Path, number: u32) -> StoreError {
    StoreError::Corrupt {
        kept_as: folder.join(format!("{DATABASE}.corrupt-{number}")),
    }
}

#[tokio::test]
async fn every_connection_is_safe_against_power_cuts_and_strangers() {
    let parent = tempfile::tempdir().unwrap();
    // No part of a path means anything but itself.
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

/// A damaged database is kept under a name of its own each time, and the next run begins anew.
#[tokio::test]
async fn a_file_that_is_no_database_is_kept_aside() {
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
async fn the_log_of_a_database_that_vanished_is_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("roundtable.db-wal"), "the only copy").unwrap();
    let refused = Store::open(folder.path()).await.unwrap_err();
    assert_eq!(refused, kept_as(folder.path(), 1));
    let kept = folder.path().join(format!("{DATABASE}.corrupt-1-wal"));
    assert_eq!(fs::read_to_string(kept).unwrap(), "the only copy");
    Store::open(folder.path()).await.unwrap();
}

/// Damage that opening does not meet is said when it is met; the next opening looks closely and keeps the file.
#[tokio::test]
async fn damage_found_later_is_kept_aside_by_the_next_run() {
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
    // What opening looks at lies before.
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
async fn a_false_suspicion_is_cleared() {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).await.unwrap().close().await;
    let suspicion = folder.path().join("roundtable.db.suspect");
    fs::write(&suspicion, "").unwrap();
    Store::open(folder.path()).await.unwrap();
    assert!(!suspicion.exists());
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

/// C-10: on a server as in a folder.
#[tokio::test]
async fn c10_a_newer_database_on_a_server_is_left_alone() {
    let place = Place::server();
    place.open().await.close().await;
    let Place::Server(database) = &place else {
        unreachable!()
    };
    database.sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'later', true, '\\x00', 0)",
    );
    let refused = Store::at(&place.address()).await.unwrap_err();
    assert_eq!(
        refused,
        StoreError::Newer {
            path: place.address().to_string().into(),
            version: 9999
        }
    );
    database.sql(
        "DELETE FROM _sqlx_migrations WHERE version = 9999; UPDATE _sqlx_migrations SET checksum = '\\x00' WHERE version = 2",
    );
    let refused = Store::at(&place.address()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Foreign { version: 2, .. }),
        "{refused}"
    );
}

/// C-10: a server that is not there, or has no such database, is said so in words that help.
#[tokio::test]
async fn c10_a_server_that_cannot_be_used_is_said() {
    let place = Place::server();
    let Place::Server(database) = &place else {
        unreachable!()
    };
    let missing = format!("{}x", database.url());
    let refused = Store::at(&Address::parse(&missing)).await.unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("does not exist"), "{said}");
    let nobody = "postgres://ada:secret@127.0.0.1:1/debates";
    let refused = Store::at(&Address::parse(nobody)).await.unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("postgres://127.0.0.1:1/debates") && !said.contains("secret"),
        "{said}"
    );
}

#[tokio::test]
async fn a_path_through_a_file_is_no_folder() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("data")] {
        let refused = Store::open(&path).await.unwrap_err();
        assert_eq!(refused, StoreError::NotAFolder { path });
    }
}

/// A folder where not even the administrator may create anything stands for one without permission.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_cannot_be_made_is_read_only() {
    let path = Path::new("/sys/roundtable");
    if !Path::new("/sys/kernel").exists() {
        return; // A container without it: the folder could really be made.
    }
    let refused = Store::open(path).await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::ReadOnly { path: named, .. } if named == path),
        "{refused:?}"
    );
}

/// Another process that never finishes opening is waited for, but not for ever.
#[tokio::test]
async fn a_folder_that_stays_locked_is_said() {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).await.unwrap().close().await;
    let other = fs::File::open(folder.path().join("locks/opening.lock")).unwrap();
    other.lock().unwrap();
    tokio::time::pause();
    let refused = Store::open(folder.path()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused:?}");
}
