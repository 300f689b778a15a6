use sqlx::Row;

use super::*;
use crate::store::Filter;
use crate::store::errors::StoreError;
use crate::store::open::file_url;
use crate::store::test_stores::TestStore;

/// A statement without an end.
const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n";
const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_hours(1);

/// A file of this test, which holds its folder.
async fn file() -> (AnyConnectOptions, TestStore) {
    let test_store = TestStore::sqlite();
    test_store.open().await.close().await;
    let TestStore::Sqlite(folder) = &test_store else {
        unreachable!()
    };
    let url = file_url(folder.path().join("roundtable.db")).unwrap();
    (url.parse().unwrap(), test_store)
}

/// C-20: a statement on a file ends after its time, and its connection can be used again.
#[tokio::test]
async fn c20_a_statement_on_a_file_is_interrupted_after_its_time() {
    let (options, _folder) = file().await;
    let readers = FileReaders::new(options, 1, SHORT);
    for _ in 0..2 {
        let started = Instant::now();
        let ended = readers.fetch_all(sqlx::query(ENDLESS)).await;
        let error = ended.err().unwrap();
        assert!(started.elapsed() >= SHORT);
        assert!(error.to_string().contains("interrupted"), "{error}");
        // Idle for longer than its last deadline.
        tokio::time::sleep(SHORT).await;
        let two = sqlx::query("SELECT $1 + 1 AS two").bind(1_i64);
        let rows = readers.fetch_all(two).await.unwrap();
        assert_eq!(rows[0].get::<i64, _>("two"), 2);
    }
    assert_eq!(lock(&readers.idle).len(), 1);
    readers.close().await;
    let closed = readers.fetch_all(sqlx::query("SELECT 1")).await;
    assert!(
        matches!(closed, Err(sqlx::Error::PoolClosed)),
        "{:?}",
        closed.err()
    );
}

/// C-20: a client that disconnects leaves no statement behind.
#[tokio::test]
async fn c20_a_statement_ends_when_its_request_is_dropped() {
    let (options, _folder) = file().await;
    let mut reader = FileReader::open(&options).await.unwrap();
    let open = Arc::downgrade(&reader.deadline);
    let endless = reader.fetch_all(sqlx::query(ENDLESS), LONG);
    assert!(tokio::time::timeout(SHORT, endless).await.is_err());
    drop(reader);
    // The connection's thread drops the handler, which holds the deadline, when the statement has ended.
    while open.strong_count() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// C-20: all reads of a store have the limit; the error says so, and the store works on.
#[tokio::test]
async fn c20_every_read_of_a_file_has_a_time_limit() {
    let test_store = TestStore::sqlite();
    let mut store = test_store.open().await;
    let readers = Arc::get_mut(store.file_readers.as_mut().unwrap()).unwrap();
    assert_eq!(readers.statement_timeout, Duration::from_secs(10));
    readers.statement_timeout = SHORT;
    let errors = [
        store.read_number(sqlx::query(ENDLESS)).await.unwrap_err(),
        store
            .read_all(sqlx::query(ENDLESS), |_| Ok(()))
            .await
            .unwrap_err(),
        store
            .read_optional(sqlx::query(ENDLESS), |_| Ok(()))
            .await
            .unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_transient());
        assert!(
            matches!(&error, StoreError::Unavailable { detail, .. } if detail.contains("took longer than 10 s")),
            "{error}"
        );
    }
    assert_eq!(store.list(&Filter::default()).await.unwrap().total, 0);
}
