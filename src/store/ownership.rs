//! Leases on a `PostgreSQL` server, in place of lock files.
//!
//! Every process that holds debates is an owner: a row with an expiry time on the database's clock, renewed by heartbeats. A
//! debate's row names its owner; the debate is free once the owner has expired or released it.
//!
//! An owner knows which debates it leases or is about to lease. A row that names it without such a lease was claimed by an
//! operation that was dropped, or whose reply was lost; the next heartbeat releases it.
//!
//! Guarantees: another process can lease an owner's debates within [`LEASE_DURATION`] of its last heartbeat; an owner that
//! cannot renew stops before that. Correctness of appends does not depend on any of this, only on the epoch.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection, Row};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::dialect::{Dialect, server_now};
use super::errors::Failure;
use super::row::parse_id;
use super::{CLOSE_TIMEOUT, SERVER_TIMEOUT, lock, signed};

/// How long after its last heartbeat an owner expires.
pub(super) const LEASE_DURATION: Duration = Duration::from_secs(6);
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(1_500);
/// The wait after a failed heartbeat.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// An owner stops this long before others may take over.
const SAFETY_MARGIN: Duration = Duration::from_millis(500);

/// This process as an owner; registered when it first locks a debate, and again after it expired.
#[derive(Debug)]
pub(super) struct Ownership {
    options: AnyConnectOptions,
    current: Mutex<Option<Owner>>,
    tasks: TaskTracker,
}

#[derive(Debug, Clone)]
pub(super) struct Owner {
    id: Arc<str>,
    /// Cancelled when the owner has expired or is about to.
    lost: CancellationToken,
    released: mpsc::UnboundedSender<Released>,
    leases: LeaseCounts,
}

/// The number of leases, and of attempts to get one, per debate.
type LeaseCounts = Arc<std::sync::Mutex<HashMap<Uuid, usize>>>;

/// A debate to release, unless it was leased again: every lease raises the epoch.
#[derive(Debug, Clone, Copy)]
struct Released {
    debate: Uuid,
    epoch: i64,
}

/// A lock on one debate, or an attempt to get it. Dropping it releases the debate.
#[derive(Debug)]
pub(super) struct OwnerLease {
    debate: Uuid,
    owner: Owner,
    /// The debate's epoch under this lease; 0 until the database has confirmed it.
    epoch: AtomicI64,
}

impl OwnerLease {
    /// Created before the statement that claims the debate, so that the claim is known even if its reply is lost.
    pub(super) fn attempt(debate: Uuid, owner: Owner) -> Self {
        *lock(&owner.leases).entry(debate).or_default() += 1;
        Self {
            debate,
            owner,
            epoch: AtomicI64::new(0),
        }
    }

    /// The debate names this owner at this epoch.
    pub(super) fn confirm(&self, epoch: i64) {
        self.epoch.store(epoch, Ordering::Relaxed);
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
        let mut leases = lock(&self.owner.leases);
        if let Some(count) = leases.get_mut(&self.debate) {
            *count -= 1;
            if *count == 0 {
                leases.remove(&self.debate);
            }
        }
        drop(leases);
        let (debate, epoch) = (self.debate, self.epoch.load(Ordering::Relaxed));
        if epoch > 0 {
            // Sending fails only if the owner has expired, and then the debate is free.
            let _ = self.owner.released.send(Released { debate, epoch });
        }
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
        if let Some(owner) = current.as_ref().filter(|owner| !owner.lost.is_cancelled()) {
            return Ok(owner.clone());
        }
        let (released, receiver) = mpsc::unbounded_channel();
        let owner = Owner {
            id: Uuid::new_v4().to_string().into(),
            lost: CancellationToken::new(),
            released,
            leases: LeaseCounts::default(),
        };
        let sent = Instant::now();
        let mut connection = connect(&self.options).await?;
        register(&mut connection, &owner.id).await?;
        let heartbeat = HeartbeatTask {
            options: self.options.clone(),
            connection: Some(connection),
            id: Arc::clone(&owner.id),
            lost: owner.lost.clone(),
            leases: Arc::clone(&owner.leases),
            released: receiver,
            unreleased: Vec::new(),
            deadline: deadline(sent),
        };
        self.tasks.spawn(heartbeat.run());
        *current = Some(owner.clone());
        Ok(owner)
    }

    /// Waits until dropped locks are released. A debate that is still locked stays so until the owner expires.
    pub(super) async fn close(&self) {
        self.current.lock().await.take();
        self.tasks.close();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.tasks.wait()).await;
    }
}

/// Counted from when the heartbeat was sent; the database counts from when it arrived, which is later.
fn deadline(sent: Instant) -> Instant {
    sent + LEASE_DURATION - SAFETY_MARGIN
}

pub(super) async fn connect(options: &AnyConnectOptions) -> Result<AnyConnection, Failure> {
    let connecting = async {
        let mut connection = AnyConnection::connect_with(options).await?;
        Dialect::Postgres.configure(&mut connection).await?;
        Ok(connection)
    };
    match tokio::time::timeout(SERVER_TIMEOUT, connecting).await {
        Ok(connected) => connected.map_err(|error: sqlx::Error| error.into()),
        Err(_) => Err(Failure::timed_out()),
    }
}

/// Sends an owner's heartbeats and releases its debates.
struct HeartbeatTask {
    options: AnyConnectOptions,
    connection: Option<AnyConnection>,
    id: Arc<str>,
    lost: CancellationToken,
    leases: LeaseCounts,
    released: mpsc::UnboundedReceiver<Released>,
    /// Released debates whose rows still name this owner.
    unreleased: Vec<Released>,
    /// When the owner has to stop unless it renews.
    deadline: Instant,
}

impl HeartbeatTask {
    async fn run(mut self) {
        let mut next = Instant::now() + HEARTBEAT_INTERVAL;
        loop {
            tokio::select! {
                biased;
                () = sleep_until(self.deadline) => break,
                () = sleep_until(next) => {
                    let sent = Instant::now();
                    match timeout_at(self.deadline, self.renew()).await {
                        Ok(Ok(true)) => {
                            self.deadline = deadline(sent);
                            next = sent + HEARTBEAT_INTERVAL;
                            let _ = timeout_at(self.deadline, self.find_abandoned()).await;
                            self.release_all().await;
                        }
                        // It has expired.
                        Ok(Ok(false)) => break,
                        Ok(Err(_)) | Err(_) => {
                            self.connection = None;
                            next = Instant::now() + RETRY_INTERVAL;
                        }
                    }
                }
                released = self.released.recv() => {
                    let Some(debate) = released else {
                        let _ = timeout_at(self.deadline, self.unregister()).await;
                        return;
                    };
                    self.unreleased.push(debate);
                    self.release_all().await;
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

    /// `false` if the owner has expired. Other processes may already have taken its debates.
    async fn renew(&mut self) -> Result<bool, Failure> {
        let id = Arc::clone(&self.id);
        let renewed = sqlx::query(concat!(
            "UPDATE owners SET lives_until = ",
            server_now!(),
            " + $2 WHERE id = $1 AND lives_until > ",
            server_now!()
        ))
        .bind(id.to_string())
        .bind(lease_millis())
        .execute(self.connection().await?)
        .await?;
        Ok(renewed.rows_affected() == 1)
    }

    /// Adds the debates that name this owner and that it does not lease. If this fails, the next heartbeat retries it.
    async fn find_abandoned(&mut self) -> Result<(), Failure> {
        let id = Arc::clone(&self.id);
        let rows = sqlx::query("SELECT id, epoch FROM debates WHERE owner = $1 AND owner <> ''")
            .bind(id.to_string())
            .fetch_all(self.connection().await?)
            .await?;
        for row in rows {
            let debate = parse_id(row.try_get("id")?)?;
            let epoch = row.try_get("epoch")?;
            if !lock(&self.leases).contains_key(&debate) {
                self.unreleased.push(Released { debate, epoch });
            }
        }
        Ok(())
    }

    /// A debate that cannot be released now is released after the next successful heartbeat.
    async fn release_all(&mut self) {
        while let Some(debate) = self.unreleased.last().copied() {
            let outcome = timeout_at(self.deadline, self.release(debate)).await;
            if !matches!(outcome, Ok(Ok(()))) {
                self.connection = None;
                return;
            }
            self.unreleased.pop();
        }
    }

    async fn release(&mut self, released: Released) -> Result<(), Failure> {
        let id = Arc::clone(&self.id);
        sqlx::query("UPDATE debates SET owner = '' WHERE id = $1 AND owner = $2 AND epoch <= $3")
            .bind(released.debate.to_string())
            .bind(id.to_string())
            .bind(released.epoch)
            .execute(self.connection().await?)
            .await?;
        Ok(())
    }

    /// Called when no lock is left and none can be taken.
    async fn unregister(&mut self) -> Result<(), Failure> {
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

/// Also deletes owners that expired long ago.
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
    .bind(lease_millis())
    .execute(connection)
    .await?;
    Ok(())
}

fn lease_millis() -> i64 {
    signed(u64::try_from(LEASE_DURATION.as_millis()).unwrap_or(u64::MAX))
}
