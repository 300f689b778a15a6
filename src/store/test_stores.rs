//! Where the tests of the store run: each on both databases (C-10).

use tempfile::TempDir;

use super::{Address, Store};

#[path = "../../tests/postgres/mod.rs"]
pub(super) mod postgres;

/// An empty store, gone with this value.
pub(super) enum Place {
    Folder(TempDir),
    Server(postgres::Database),
}

impl Place {
    pub(super) fn folder() -> Self {
        Self::Folder(tempfile::tempdir().unwrap())
    }

    pub(super) fn server() -> Self {
        Self::Server(postgres::Database::new())
    }

    /// One that waits for its disk, as in earnest.
    pub(super) fn safe_server() -> Self {
        Self::Server(postgres::Database::on(postgres::Disk::Safe))
    }

    /// As a process of its own would.
    pub(super) async fn open(&self) -> Store {
        Store::at(&self.address()).await.unwrap()
    }

    pub(super) fn address(&self) -> Address {
        match self {
            Self::Folder(folder) => Address::Folder(folder.path().to_path_buf()),
            Self::Server(database) => Address::parse(database.url()),
        }
    }

    pub(super) fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }
}

/// The tests of these names, on both databases.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        $(
            mod $name {
                #[tokio::test]
                async fn on_sqlite() {
                    super::$name(crate::store::test_stores::Place::folder()).await;
                }

                #[tokio::test]
                async fn on_postgres() {
                    super::$name(crate::store::test_stores::Place::server()).await;
                }
            }
        )+
    };
}
pub(super) use on_both;
