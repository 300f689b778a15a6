//! Where the store is, and who holds which of its debates there: lock files in a data folder, owners on a server.

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Store;
use super::address::Url;
use super::dialect::server_now;
use super::errors::{Failure, StoreError};
use super::folder::{self, Folder, PATIENCE, PAUSE};
use super::ownership::{OwnerLease, Ownership};
use super::queue::Queue;

#[derive(Debug)]
pub(super) enum Home {
    Folder(Folder),
    Server(Box<Server>),
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) url: Url,
    pub(super) ownership: Ownership,
    pub(super) queue: Queue,
}

/// A debate that is held by us. It ends with this value or with the process, however that dies.
#[derive(Debug)]
pub(super) enum Held {
    File {
        _lock: folder::Held,
    },
    Lease(OwnerLease),
    /// There is no such debate, so nobody can hold it.
    Nothing,
}

impl Held {
    /// As the row names it.
    pub(super) fn owner(&self) -> &str {
        match self {
            Self::Lease(lease) => lease.owner(),
            Self::File { .. } | Self::Nothing => "",
        }
    }

    /// Cancelled when others may have taken the debate over. A lock file is never lost.
    pub(super) fn lost(&self) -> CancellationToken {
        match self {
            Self::Lease(lease) => lease.lost().clone(),
            Self::File { .. } | Self::Nothing => CancellationToken::new(),
        }
    }
}

impl Home {
    /// Puts a failure into a sentence.
    pub(super) fn report(&self, failure: Failure) -> StoreError {
        match self {
            Self::Folder(folder) => folder.report(failure),
            Self::Server(server) => failure.at_server(&server.url),
        }
    }
}

/// How long somebody who has let go may take to have done so: on a server, it is a message.
const SOON: std::time::Duration = std::time::Duration::from_millis(500);

impl Store {
    /// `None` while another lease holds the debate.
    pub(super) async fn try_hold(&self, id: Uuid) -> Result<Option<Held>, StoreError> {
        match &*self.home {
            Home::Folder(folder) => Ok(folder.try_hold(id)?.map(|lock| Held::File { _lock: lock })),
            Home::Server(server) => {
                let deadline = tokio::time::Instant::now() + SOON;
                loop {
                    let held = self.take(&server.ownership, id).await;
                    let held = held.map_err(|failure| self.failed(failure))?;
                    if held.is_some() || tokio::time::Instant::now() >= deadline {
                        return Ok(held);
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Waits a little for whoever holds the debate to let go of it.
    pub(super) async fn hold(&self, id: Uuid) -> Result<Option<Held>, StoreError> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let held = self.try_hold(id).await?;
            if held.is_some() || tokio::time::Instant::now() >= deadline {
                return Ok(held);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// For a debate that is about to be made: its row will name us.
    pub(super) async fn hold_new(&self, id: Uuid) -> Result<Option<Held>, StoreError> {
        match &*self.home {
            Home::Folder(folder) => Ok(folder.try_hold(id)?.map(|lock| Held::File { _lock: lock })),
            Home::Server(server) => {
                let owner = server.ownership.owner().await;
                let owner = owner.map_err(|failure| self.failed(failure))?;
                Ok(Some(Held::Lease(OwnerLease::new(id, owner))))
            }
        }
    }

    /// For a debate that is gone.
    pub(super) fn forget_hold(&self, id: Uuid) {
        if let Home::Folder(folder) = &*self.home {
            folder.forget_lock(id);
        }
    }

    /// Taking a debate raises its epoch: whoever held it before writes nothing from here on.
    async fn take(&self, ownership: &Ownership, id: Uuid) -> Result<Option<Held>, Failure> {
        let owner = ownership.owner().await?;
        let taking = sqlx::query(concat!(
            "UPDATE debates SET owner = $2, epoch = epoch + 1 WHERE id = $1 AND NOT EXISTS \
             (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
            server_now!(),
            ") RETURNING epoch"
        ))
        .bind(id.to_string())
        .bind(owner.id().to_owned());
        let place = self.writer.turn().await;
        let taken = self.writer.at_once(place, taking).await?;
        if !taken.is_empty() {
            return Ok(Some(Held::Lease(OwnerLease::new(id, owner))));
        }
        let there = sqlx::query("SELECT epoch FROM debates WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.reader)
            .await?;
        Ok(there.is_none().then_some(Held::Nothing))
    }
}
