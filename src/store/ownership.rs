//! Who holds debates on a `PostgreSQL` server, where no lock file reaches.
//!
//! Every process that holds debates is an owner: one row that says until when it is taken to live, by the clock of the
//! database, and that it renews all the time. A debate names its owner, and is free as soon as that one is dead or has let go.
//!
//! It promises: what an owner held can be leased within [`LEASE_DURATION`] of its last sign of life; an owner that could not renew
//! knows it before anybody may lease, and stops. None of it makes an append correct: the epoch does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::dialect::{Dialect, server_now};
use super::errors::Failure;
use super::folder::PATIENCE;
use super::signed;

/// How long an owner is taken to live after its last sign of life.
pub(super) const LEASE_DURATION: Duration = Duration::from_secs(6);
const BEAT: Duration = Duration::from_millis(1_500);
/// After a sign of life that did not get through.
const AGAIN: Duration = Duration::from_millis(250);
/// An owner stops this long before others may take over.
const MARGIN: Duration = Duration::from_millis(500);

/// This process as an owner; made when it first holds something, and anew after it was taken for dead.
#[derive(Debug)]
pub(super) struct Ownership {
    options: AnyConnectOptions,
    current: Mutex<Option<Owner>>,
    tasks: TaskTracker,
}

#[derive(Clone)]
pub(super) struct Owner {
    id: Arc<str>,
    /// Cancelled when it may no longer act.
    lost: CancellationToken,
    let_go: mpsc::UnboundedSender<Uuid>,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "owner {}", self.id)
    }
}

/// One debate that is held. Dropped, it is free again.
#[derive(Debug)]
pub(super) struct OwnerLease {
    debate: Uuid,
    owner: Owner,
}

impl OwnerLease {
    pub(super) fn new(debate: Uuid, owner: Owner) -> Self {
        Self { debate, owner }
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner.id
    }

    pub(super) fn lost(&self) -> &CancellationToken {
        &self.owner.lost
    }
}

impl Drop for OwnerLease {
    fn drop(&mut self) {
        // Nobody hears it only where the owner is gone, and then the debate is free.
        let _ = self.owner.let_go.send(self.debate);
    }
}

impl Owner {
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

impl Ownership {
    pub(super) fn new(options: AnyConnectOptions) -> Self {
        Self {
            options,
            current: Mutex::new(None),
            tasks: TaskTracker::new(),
        }
    }

    pub(super) async fn owner(&self) -> Result<Owner, Failure> {
        let mut current = self.current.lock().await;
        if let Some(owner) = current.as_ref().filter(|it| !it.lost.is_cancelled()) {
            return Ok(owner.clone());
        }
        let (let_go, heard) = mpsc::unbounded_channel();
        let owner = Owner {
            id: Uuid::new_v4().to_string().into(),
            lost: CancellationToken::new(),
            let_go,
        };
        let sent = Instant::now();
        let mut connection = connect(&self.options).await?;
        register(&mut connection, &owner.id).await?;
        let keeper = Keeper {
            options: self.options.clone(),
            connection: Some(connection),
            id: Arc::clone(&owner.id),
            lost: owner.lost.clone(),
            heard,
            owed: Vec::new(),
            deadline: until(sent),
        };
        self.tasks.spawn(keeper.keep());
        *current = Some(owner.clone());
        Ok(owner)
    }

    /// Waits until everything that was let go of is free. What is still held then is so until its owner is taken for dead.
    pub(super) async fn close(&self) {
        self.current.lock().await.take();
        self.tasks.close();
        let _ = tokio::time::timeout(PATIENCE, self.tasks.wait()).await;
    }
}

/// The database counts from when it got the message, which is later than when it was sent.
fn until(sent: Instant) -> Instant {
    sent + LEASE_DURATION - MARGIN
}

pub(super) async fn connect(options: &AnyConnectOptions) -> Result<AnyConnection, Failure> {
    let connecting = async {
        let mut connection = AnyConnection::connect_with(options).await?;
        Dialect::Postgres.configure(&mut connection).await?;
        Ok(connection)
    };
    match tokio::time::timeout(2 * PATIENCE, connecting).await {
        Ok(connected) => connected.map_err(|error: sqlx::Error| error.into()),
        Err(_) => Err(Failure::silent()),
    }
}

/// Says for an owner that it lives, and frees what it lets go of.
struct Keeper {
    options: AnyConnectOptions,
    connection: Option<AnyConnection>,
    id: Arc<str>,
    lost: CancellationToken,
    heard: mpsc::UnboundedReceiver<Uuid>,
    /// What was let go of and is not free yet: as long as this owner lives, nobody else may take it.
    owed: Vec<Uuid>,
    /// When it has to stop unless it has renewed.
    deadline: Instant,
}

impl Keeper {
    async fn keep(mut self) {
        let mut next = Instant::now() + BEAT;
        loop {
            tokio::select! {
                biased;
                () = sleep_until(self.deadline) => break,
                () = sleep_until(next) => {
                    let sent = Instant::now();
                    match timeout_at(self.deadline, self.renew()).await {
                        Ok(Ok(true)) => {
                            self.deadline = until(sent);
                            next = sent + BEAT;
                            self.free_all().await;
                        }
                        // Others take it for dead already.
                        Ok(Ok(false)) => break,
                        Ok(Err(_)) | Err(_) => {
                            self.connection = None;
                            next = Instant::now() + AGAIN;
                        }
                    }
                }
                let_go = self.heard.recv() => {
                    let Some(debate) = let_go else {
                        let _ = timeout_at(self.deadline, self.leave()).await;
                        return;
                    };
                    self.owed.push(debate);
                    self.free_all().await;
                }
            }
        }
        self.lost.cancel();
    }

    async fn connection(&mut self) -> Result<&mut AnyConnection, Failure> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.options).await?,
        };
        Ok(self.connection.insert(connection))
    }

    /// `false` where it was taken for dead. Then its debates may be others' already.
    async fn renew(&mut self) -> Result<bool, Failure> {
        let id = Arc::clone(&self.id);
        let renewed = sqlx::query(concat!(
            "UPDATE owners SET lives_until = ",
            server_now!(),
            " + $2 WHERE id = $1 AND lives_until > ",
            server_now!()
        ))
        .bind(id.to_string())
        .bind(lease())
        .execute(self.connection().await?)
        .await?;
        Ok(renewed.rows_affected() == 1)
    }

    /// What cannot be freed now is freed after the next sign of life that gets through.
    async fn free_all(&mut self) {
        while let Some(debate) = self.owed.last().copied() {
            let freed = timeout_at(self.deadline, self.free(debate)).await;
            if !matches!(freed, Ok(Ok(()))) {
                self.connection = None;
                return;
            }
            self.owed.pop();
        }
    }

    async fn free(&mut self, debate: Uuid) -> Result<(), Failure> {
        let id = Arc::clone(&self.id);
        sqlx::query("UPDATE debates SET owner = '' WHERE id = $1 AND owner = $2")
            .bind(debate.to_string())
            .bind(id.to_string())
            .execute(self.connection().await?)
            .await?;
        Ok(())
    }

    /// Nothing is held any more, and nobody will ask for more.
    async fn leave(&mut self) -> Result<(), Failure> {
        let id = Arc::clone(&self.id);
        sqlx::query("DELETE FROM owners WHERE id = $1")
            .bind(id.to_string())
            .execute(self.connection().await?)
            .await?;
        if let Some(connection) = self.connection.take() {
            connection.close().await?;
        }
        Ok(())
    }
}

/// Those who died long ago go on the way.
async fn register(connection: &mut AnyConnection, id: &str) -> Result<(), Failure> {
    sqlx::query(concat!(
        "DELETE FROM owners WHERE lives_until < ",
        server_now!(),
        " - 3600000"
    ))
    .execute(&mut *connection)
    .await?;
    sqlx::query(concat!(
        "INSERT INTO owners (id, lives_until) VALUES ($1, ",
        server_now!(),
        " + $2)"
    ))
    .bind(id.to_owned())
    .bind(lease())
    .execute(connection)
    .await?;
    Ok(())
}

fn lease() -> i64 {
    signed(u64::try_from(LEASE_DURATION.as_millis()).unwrap_or(u64::MAX))
}
