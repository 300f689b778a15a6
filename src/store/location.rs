//! The location of the store and its locks on debates: lock files in a data folder, owners on a server.

use sqlx::Row;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Store;
use super::address::Url;
use super::dialect::server_now;
use super::errors::{Failure, StoreError};
use super::folder::{FileLock, Folder, LOCK_TIMEOUT, poll};
use super::ownership::{OwnerLease, Ownership};
use super::queue::Queue;

#[derive(Debug)]
pub(super) enum Location {
    Folder(Folder),
    Server(Box<Server>),
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) url: Url,
    pub(super) ownership: Ownership,
    pub(super) queue: Queue,
}

/// A lock on a debate, released when this value is dropped or the process dies.
#[derive(Debug)]
pub(super) enum DebateLock {
    File {
        _lock: FileLock,
    },
    Owner(OwnerLease),
    /// There is no such debate.
    Missing,
}

impl DebateLock {
    /// The owner to write into the debate's row.
    pub(super) fn owner(&self) -> &str {
        match self {
            Self::Owner(lease) => lease.owner(),
            Self::File { .. } | Self::Missing => "",
        }
    }

    /// The debate's row names the owner of this lock at this epoch.
    pub(super) fn confirm(&self, epoch: i64) {
        if let Self::Owner(lease) = self {
            lease.confirm(epoch);
        }
    }

    /// Cancelled when the lock is lost. A lock file is never lost.
    pub(super) fn lost(&self) -> CancellationToken {
        match self {
            Self::Owner(lease) => lease.lost().clone(),
            Self::File { .. } | Self::Missing => CancellationToken::new(),
        }
    }
}

impl Location {
    pub(super) fn report(&self, failure: Failure) -> StoreError {
        match self {
            Self::Folder(folder) => folder.report(failure),
            Self::Server(server) => failure.at_server(&server.url),
        }
    }
}

/// A listing may be looking at the lock file, so a first refusal is retried for this long.
const PROBE_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(10);
/// A released debate becomes free with the next statement of its owner, so a first refusal is retried for this long.
const RELEASE_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(500);

impl Store {
    /// `None` if another process holds the debate.
    pub(super) async fn try_lock_debate(&self, id: Uuid) -> Result<Option<DebateLock>, StoreError> {
        match &*self.location {
            Location::Folder(folder) => {
                let lock = poll(PROBE_TIMEOUT, || async { folder.try_lock_debate(id) }).await?;
                Ok(lock.map(|lock| DebateLock::File { _lock: lock }))
            }
            Location::Server(server) => {
                let take = || self.run(self.take_ownership(&server.ownership, id));
                poll(RELEASE_TIMEOUT, take).await
            }
        }
    }

    /// Waits up to [`LOCK_TIMEOUT`] for the debate to be released.
    pub(super) async fn lock_debate(&self, id: Uuid) -> Result<Option<DebateLock>, StoreError> {
        poll(LOCK_TIMEOUT, || self.try_lock_debate(id)).await
    }

    /// For a debate that is about to be created with this process as its owner; to be confirmed once it is.
    pub(super) async fn lock_new_debate(&self, id: Uuid) -> Result<Option<DebateLock>, StoreError> {
        match &*self.location {
            Location::Folder(folder) => Ok(folder
                .try_lock_debate(id)?
                .map(|lock| DebateLock::File { _lock: lock })),
            Location::Server(server) => {
                let owner = self.run(server.ownership.owner()).await?;
                Ok(Some(DebateLock::Owner(OwnerLease::attempt(id, owner))))
            }
        }
    }

    /// For a deleted debate.
    pub(super) fn remove_debate_lock(&self, id: Uuid) {
        if let Location::Folder(folder) = &*self.location {
            folder.remove_lock_file(id);
        }
    }

    /// Raises the epoch, so that the previous owner can no longer write.
    async fn take_ownership(
        &self,
        ownership: &Ownership,
        id: Uuid,
    ) -> Result<Option<DebateLock>, Failure> {
        let lease = OwnerLease::attempt(id, ownership.owner().await?);
        let query = sqlx::query(concat!(
            "UPDATE debates SET owner = $2, epoch = epoch + 1 WHERE id = $1 AND NOT EXISTS \
             (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
            server_now!(),
            ") RETURNING epoch"
        ))
        .bind(id.to_string())
        .bind(lease.owner().to_owned());
        let taken = self.writer.fetch_all(query).await?;
        if let Some(row) = taken.first() {
            lease.confirm(row.try_get("epoch")?);
            return Ok(Some(DebateLock::Owner(lease)));
        }
        let found = sqlx::query("SELECT epoch FROM debates WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.reader)
            .await?;
        Ok(found.is_none().then_some(DebateLock::Missing))
    }
}
