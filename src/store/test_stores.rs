//! Empty stores for tests, on both databases (C-10).

use tempfile::TempDir;

use super::{Address, Store};

#[path = "../../tests/postgres/mod.rs"]
pub(super) mod postgres;

/// An empty store, deleted when this value is dropped.
pub(super) enum TestStore {
    Sqlite(TempDir),
    Postgres(postgres::Database),
}

impl TestStore {
    pub(super) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(super) fn postgres() -> Self {
        Self::Postgres(postgres::Database::new())
    }

    /// A server with fsync on, for measurements.
    pub(super) fn durable_postgres() -> Self {
        Self::Postgres(postgres::Database::on(postgres::Disk::Safe))
    }

    /// Opens the store as a separate process would.
    pub(super) async fn open(&self) -> Store {
        Store::at(&self.address()).await.unwrap()
    }

    pub(super) fn address(&self) -> Address {
        match self {
            Self::Sqlite(folder) => Address::Folder(folder.path().to_path_buf()),
            Self::Postgres(database) => Address::parse(database.url()),
        }
    }

    pub(super) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// The database, for tests that run on PostgreSQL only.
    pub(super) fn database(&self) -> &postgres::Database {
        match self {
            Self::Postgres(database) => database,
            Self::Sqlite(_) => unreachable!("this test runs on PostgreSQL"),
        }
    }
}

/// Runs each of these tests on both databases.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        $(
            mod $name {
                #[tokio::test]
                async fn on_sqlite() {
                    super::$name(crate::store::test_stores::TestStore::sqlite()).await;
                }

                #[tokio::test]
                async fn on_postgres() {
                    super::$name(crate::store::test_stores::TestStore::postgres()).await;
                }
            }
        )+
    };
}
pub(super) use on_both;
