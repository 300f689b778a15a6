use std::fs;
use std::path::PathBuf;

use sqlx::{Connection, Executor};
use uuid::Uuid;

use super::*;
use crate::store::dialect::server_now;
use crate::store::test_stores::TestStore;
use crate::store::test_support::{finished, keyed, opened, setup, spent};
use crate::store::{Store, StoreError};

/// The schema before this build's.
const PREVIOUS: [&str; 4] = [
    include_str!("../../migrations/0001_debates_and_journal.sql"),
    include_str!("../../migrations/0002_serving.sql"),
    include_str!("../../migrations/0003_learning.sql"),
    include_str!("../../migrations/0004_owners.sql"),
];

fn previous() -> Schema {
    let names = ["debates and journal", "serving", "learning", "owners"];
    let versions = 1_i64..;
    let all = versions.zip(names).zip(PREVIOUS);
    Schema::new(
        all.map(|((version, name), sql)| (version, name, sql))
            .collect(),
    )
}

async fn connect(store: &TestStore) -> AnyConnection {
    sqlx::any::install_default_drivers();
    AnyConnection::connect(store.database().url())
        .await
        .unwrap()
}

/// C-10: a shared database is migrated only on request; every other command says what to do and changes nothing.
#[tokio::test]
async fn c10_a_shared_database_is_migrated_only_on_request() {
    let test_store = TestStore::postgres();
    let database = test_store.database();
    let mut connection = connect(&test_store).await;
    assert!(previous().migrate(&mut connection).await.is_ok());
    let refused = Store::at(&test_store.address()).await.unwrap_err();
    let needed = Schema::of_this_build(Dialect::Sqlite).newest();
    assert_eq!(
        refused,
        StoreError::Older {
            database: test_store.address().to_string(),
            version: 4,
            needed
        }
    );
    let message = refused.to_string();
    assert!(message.contains("run `roundtable db migrate`"), "{message}");
    assert!(!message.contains("postgres@"), "{message}");
    assert_eq!(
        database.sql("SELECT MAX(version) FROM _sqlx_migrations"),
        "4"
    );
    let store = Store::migrate(&test_store.address()).await.unwrap();
    assert_eq!(store.version().await, Ok(u64::try_from(needed).unwrap()));
    Store::at(&test_store.address())
        .await
        .unwrap()
        .close()
        .await;
}

/// C-10: builds of different branches run migrations in another order. The version is the last one without a gap before it, so
/// that the message names a reason, and a copy is kept before the missing migration changes data.
#[tokio::test]
async fn c10_a_database_without_a_migration_in_between_is_older() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = old_store(folder.path()).await;
    let own = Schema::of_this_build(Dialect::Sqlite);
    let without = |missing| {
        let kept = own.0.iter().filter(|own| own.version != missing).cloned();
        Schema(Migrator::with_migrations(kept.collect()))
    };
    assert!(without(5).migrate(&mut connection).await.is_ok());
    let state = own.state(&mut connection, Dialect::Sqlite).await;
    assert!(matches!(state, Ok(State::Older(4))));
    connection.close().await.unwrap();
    Store::open(folder.path()).await.unwrap().close().await;
    assert!(folder.path().join("roundtable.db.schema-4").exists());
}

/// C-10: processes that start at the same time on an empty database all get a schema.
#[tokio::test]
async fn c10_concurrent_first_starts_succeed() {
    let test_store = TestStore::postgres();
    let address = test_store.address();
    let opened = futures::future::join_all((0..6).map(|_| Store::at(&address))).await;
    for store in opened {
        store.unwrap().close().await;
    }
}

/// C-10: a build can use a newer schema that supports it, and no other.
#[tokio::test]
async fn c10_a_newer_schema_is_used_only_if_it_supports_this_build() {
    let newest = Schema::of_this_build(Dialect::Sqlite).newest();
    let insert = |version: i64| {
        format!(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES ({version}, 'later', true, '\\x00', 0); ALTER TABLE journal ADD COLUMN later TEXT"
        )
    };
    for (oldest, is_usable) in [(newest, true), (newest + 1, false)] {
        let test_store = TestStore::postgres();
        test_store.open().await.close().await;
        let database = test_store.database();
        database.sql(&insert(newest + 1));
        database.sql(&format!("UPDATE compatibility SET oldest = {oldest}"));
        match Store::at(&test_store.address()).await {
            Ok(store) => {
                assert!(is_usable);
                let lease = store
                    .create(Uuid::new_v4(), &setup("Why?"), 1)
                    .await
                    .unwrap();
                lease
                    .journal()
                    .append(vec![keyed(1, opened("Why?"))])
                    .await
                    .unwrap();
            }
            Err(refused) => {
                assert!(!is_usable, "{refused}");
                assert!(
                    matches!(refused, StoreError::Newer { version, .. } if version == newest + 1),
                    "{refused}"
                );
            }
        }
    }
}

/// The statements with which version 0.1 leases a debate and appends to it, as it sends them.
const OLD_LEASE: &str = concat!(
    "UPDATE debates SET owner = 'old', epoch = epoch + 1 WHERE NOT EXISTS \
     (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
    server_now!(),
    ") RETURNING epoch"
);
const OLD_APPEND: &str = "WITH given AS (
        SELECT * FROM json_to_recordset(CAST($1 AS json)) AS given(
            id text, epoch bigint, updated_at bigint, state text, ended_at bigint, generation bigint, rating bigint,
            calls bigint, retries bigint, input_tokens bigint, output_tokens bigint, cached_tokens bigint,
            cost_usd double precision, cost_unknown bigint)
    ), owned AS (
        UPDATE debates SET
            updated_at = given.updated_at,
            calls = debates.calls + given.calls,
            retries = debates.retries + given.retries,
            input_tokens = debates.input_tokens + given.input_tokens,
            output_tokens = debates.output_tokens + given.output_tokens,
            cached_tokens = debates.cached_tokens + given.cached_tokens,
            cost_usd = debates.cost_usd + given.cost_usd,
            cost_known = CASE WHEN given.cost_unknown = 1 THEN 0 ELSE debates.cost_known END
        FROM given WHERE debates.id = given.id AND debates.epoch = given.epoch
        RETURNING debates.id
    ), added AS (
        INSERT INTO journal (debate_id, seq, key, at, kind, body)
        SELECT entry.id, entry.seq, entry.key, entry.at, entry.kind, entry.body
        FROM json_to_recordset(CAST($2 AS json)) AS entry(
            id text, seq bigint, key text, at bigint, kind text, body text)
        JOIN owned ON owned.id = entry.id
    )
    SELECT id, CAST(pg_notify('roundtable_journal', id) AS text) AS told FROM owned";

/// B-04: during an upgrade, a worker of the version before writes to the migrated database, next to one of this version. Nothing
/// is lost, each is fenced by the other's lease, and the check names the entries that have no checksum until they get one.
#[tokio::test]
async fn b04_workers_of_two_versions_share_a_migrated_database() {
    let test_store = TestStore::postgres();
    let mut old = connect(&test_store).await;
    assert!(previous().migrate(&mut old).await.is_ok());
    // The old worker has prepared its statements before the migration, as a running one has.
    old.fetch_all("SELECT id, epoch FROM debates")
        .await
        .unwrap();
    let store = Store::migrate(&test_store.address()).await.unwrap();
    let id = Uuid::new_v4();
    let lease = store.create(id, &setup("Why?"), 1).await.unwrap();
    let step = |seq| keyed(seq, finished(&format!("r{seq}/a"), spent(Some(0.5))));
    lease
        .journal()
        .append(vec![keyed(1, opened("Why?")), step(2)])
        .await
        .unwrap();
    let fenced_later = lease.journal();
    drop(lease);

    // The dropped lease is released a moment later, and the old worker waits for that.
    let epoch: i64 = loop {
        if let Some(row) = old.fetch_optional(OLD_LEASE).await.unwrap() {
            break row.get("epoch");
        }
    };
    let refused = fenced_later.append(vec![step(3)]).await;
    assert_eq!(
        refused,
        Err(roundtable_engine::journal::JournalError::Fenced)
    );
    let append = async |old: &mut AnyConnection, epoch: i64| {
        let spent = serde_json::json!([{ "id": id, "epoch": epoch, "updated_at": 7, "state": "", "calls": 2, "retries": 1,
            "input_tokens": 100, "output_tokens": 20, "cached_tokens": 60, "cost_usd": 0.5, "cost_unknown": 0 }]);
        let body = serde_json::to_string(&step(3).entry.event).unwrap();
        let entry = serde_json::json!([{ "id": id, "seq": 3, "key": "r3/a", "at": 7, "kind": "step_finished", "body": body }]);
        let query = sqlx::query(OLD_APPEND)
            .bind(spent.to_string())
            .bind(entry.to_string());
        query.fetch_all(old).await.unwrap().len()
    };
    assert_eq!(append(&mut old, epoch).await, 1);

    // The old worker sends no heartbeats, as if it had died without releasing the debate.
    let lease = store.lease(id).await.unwrap();
    assert_eq!(append(&mut old, epoch).await, 0, "fenced");
    assert_eq!(lease.journal().load().await.unwrap().len(), 3);
    lease.journal().append(vec![step(4)]).await.unwrap();
    drop(lease);
    let report = store.check().await.unwrap();
    assert_eq!(report.faults.len(), 1, "{report:?}");
    assert!(
        report.faults[0].contains("entry 3 (r3/a) has no checksum"),
        "{report:?}"
    );
    assert_eq!(store.add_checksums().await.unwrap().sealed, [id]);
    let report = store.check().await.unwrap();
    assert_eq!(
        (report.entries, report.without_checksum, report.faults),
        (4, 0, vec![])
    );
}

/// C-10: a store of the version before is opened in a data folder, with all its debates.
#[tokio::test]
async fn c10_a_data_folder_is_migrated_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = old_store(folder.path()).await;
    assert!(previous().migrate(&mut connection).await.is_ok());
    connection.close().await.unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let newest = Schema::of_this_build(Dialect::Sqlite).newest();
    assert_eq!(store.version().await, Ok(u64::try_from(newest).unwrap()));
    let copy = folder.path().join("roundtable.db.schema-4");
    assert_eq!(
        copy.exists(),
        Schema::of_this_build(Dialect::Sqlite).changes_data(4)
    );
}

async fn old_store(folder: &std::path::Path) -> AnyConnection {
    sqlx::any::install_default_drivers();
    let url = format!("sqlite:{}?mode=rwc", folder.join("roundtable.db").display());
    AnyConnection::connect(&url).await.unwrap()
}

/// C-10: before a migration that changes data, a copy is kept that the version before can use.
#[tokio::test]
async fn c10_a_copy_is_kept_before_a_migration_that_changes_data() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let lease = store
        .create(Uuid::new_v4(), &setup("Why?"), 1)
        .await
        .unwrap();
    lease
        .journal()
        .append(vec![keyed(1, opened("Why?"))])
        .await
        .unwrap();
    let content = store.content().await.unwrap();
    drop(lease);
    store.close().await;

    let newest = Schema::of_this_build(Dialect::Sqlite).newest();
    let add = (newest + 1, "add", "CREATE TABLE later (a TEXT)");
    let change = (newest + 2, "change", "UPDATE journal SET body = 'gone'");
    let with = |later: &[(i64, &'static str, &'static str)]| {
        let (own, later) = (
            Schema::of_this_build(Dialect::Sqlite),
            Schema::new(later.to_vec()),
        );
        let all = own.0.iter().chain(later.0.iter()).cloned();
        Schema(Migrator::with_migrations(all.collect()))
    };
    let prepared = crate::store::folder::Folder::prepare(folder.path()).unwrap();
    let copies = async |schema: Schema| {
        let mut connection = old_store(folder.path()).await;
        let migrated = crate::store::open::migrate_file(&mut connection, &prepared, &schema).await;
        assert!(migrated.is_ok());
        connection.close().await.unwrap();
        prepared.copies()
    };
    // A migration that only adds needs none.
    assert_eq!(copies(with(&[add])).await, Vec::<PathBuf>::new());
    let copy = folder
        .path()
        .join(format!("roundtable.db.schema-{}", newest + 1));
    for _ in 0..2 {
        let found = copies(with(&[add, change])).await;
        assert_eq!(found, std::slice::from_ref(&copy));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&copy).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }
    let restored = tempfile::tempdir().unwrap();
    fs::copy(copy, restored.path().join("roundtable.db")).unwrap();
    let store = Store::open(restored.path()).await.unwrap();
    assert_eq!(store.content().await.unwrap(), content);
}

#[test]
fn statements_that_change_data_are_recognised() {
    for sql in [
        "UPDATE journal SET at = 0;",
        "-- Old ones.\nCREATE TABLE x (a TEXT);\n\ndelete from journal",
        "ALTER TABLE debates DROP COLUMN served",
        "ALTER TABLE debates RENAME TO old",
        "DROP TABLE orders",
    ] {
        assert!(changes_data(sql), "{sql}");
    }
    for sql in PREVIOUS {
        assert!(!changes_data(sql), "{sql}");
    }
    assert!(!changes_data(
        "-- UPDATE x\nINSERT INTO x VALUES (1); ALTER TABLE x ADD COLUMN y TEXT"
    ));
}
