//! The job queue on a `PostgreSQL` server, from `apalis-postgres` (B-04).
//!
//! A job names a debate and its epoch. It is finished when its worker releases the debate for any reason, and is then deleted.
//! Every process polls for debates that should run, have no live owner and have no job at their epoch, and enqueues one
//! ([`Queue::enqueue_missing`]).
//!
//! Correctness does not depend on the queue: a lost job is enqueued again, a surplus job finds nothing to do, and appends are
//! fenced by the epoch.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use apalis_core::task::builder::TaskBuilder;
use apalis_core::worker::context::WorkerContext;
use apalis_postgres::queries::{
    fetch_next, keep_alive, push_tasks, reenqueue_orphaned, register_worker,
};
use apalis_postgres::{Config, PgTask, PostgresStorage};
use futures::FutureExt;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgPool, Postgres, Row, Transaction};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::address::Url;
use super::dialect::{Dialect, server_now};
use super::errors::{Failure, Fault};
use super::left_alone::LeftAlone;
use super::row::parse_id;
use super::{CLOSE_TIMEOUT, SERVER_TIMEOUT, lock};

/// Separates our jobs from those of other programs in the same database.
const QUEUE_NAME: &str = "roundtable";
/// A worker that misses four heartbeats is dead: its jobs are re-enqueued after 6 s.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(1_500);
const MAX_MISSED_HEARTBEATS: usize = 4;
/// The number of jobs enqueued with one statement.
const MAX_JOBS: i64 = 500;
/// How often to look for debates whose jobs other processes hold.
const HELD_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// One for heartbeats and one for everything else.
const MAX_CONNECTIONS: u32 = 2;

/// The notification channel for new jobs.
pub(super) const NEW_JOBS: &str = "apalis::job::insert";

#[derive(Debug)]
pub(super) struct Queue {
    pool: PgPool,
    is_set_up: OnceCell<()>,
    /// This process, once it has taken jobs.
    worker: Mutex<Option<RegisteredWorker>>,
    finished: FinishedJobs,
    pub(super) left_alone: LeftAlone,
    /// When to look for held jobs again.
    next_held_poll: std::sync::Mutex<Instant>,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct RegisteredWorker {
    context: WorkerContext,
    /// Cancelled when the queue has dropped the worker, or when it unregisters.
    stopped: CancellationToken,
}

/// Jobs whose debates were released and that are still in the queue.
pub(super) type FinishedJobs = Arc<std::sync::Mutex<BTreeSet<String>>>;

/// A job taken by this process. Dropping it finishes the job.
#[derive(Debug)]
pub(super) struct Job {
    id: String,
    debate: Option<Uuid>,
    finished: FinishedJobs,
}

impl Job {
    #[cfg(test)]
    pub(super) fn for_test(debate: Uuid, finished: &FinishedJobs) -> Self {
        Self {
            id: debate.to_string(),
            debate: Some(debate),
            finished: Arc::clone(finished),
        }
    }

    /// `None` if the job names no debate.
    pub(super) fn debate(&self) -> Option<Uuid> {
        self.debate
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let id = std::mem::take(&mut self.id);
        lock(&self.finished).insert(id);
    }
}

/// The debates to enqueue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    All,
    Debate(Uuid),
}

/// Debates that should run, have no live owner and have no job. A creation time in the future of the server's clock is capped,
/// so that no job waits for a clock that is behind.
macro_rules! without_job {
    ($which:literal) => {
        concat!(
            "SELECT id, epoch, LEAST(created_at, ",
            server_now!(),
            " - 1000) / 1000 AS since FROM debates WHERE served = 1 AND state IN ('queued', 'running') \
             AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
            server_now!(),
            ") AND NOT EXISTS (SELECT 1 FROM apalis.jobs WHERE job_type = $1 \
             AND idempotency_key = debates.id || '/' || debates.epoch) ",
            $which
        )
    };
}

impl Queue {
    pub(super) fn new(url: &Url) -> Result<Self, sqlx::Error> {
        let options = url
            .expose()
            .parse::<PgConnectOptions>()?
            .disable_statement_logging();
        let pool = PgPoolOptions::new()
            .max_connections(MAX_CONNECTIONS)
            .acquire_timeout(SERVER_TIMEOUT)
            .after_connect(|connection, _| {
                async move {
                    sqlx::raw_sql(Dialect::Postgres.settings())
                        .execute(connection)
                        .await
                        .map(drop)
                }
                .boxed()
            })
            .connect_lazy_with(options);
        Ok(Self {
            pool,
            is_set_up: OnceCell::new(),
            worker: Mutex::new(None),
            finished: FinishedJobs::default(),
            left_alone: LeftAlone::default(),
            next_held_poll: std::sync::Mutex::new(Instant::now()),
            tasks: TaskTracker::new(),
        })
    }

    /// Creates or migrates the queue's tables if necessary.
    pub(super) async fn set_up(&self) -> Result<(), Failure> {
        self.is_set_up
            .get_or_try_init(|| set_up(&self.pool))
            .await
            .copied()
    }

    /// Deletes finished jobs, and enqueues every selected debate that needs a job.
    pub(super) async fn enqueue_missing(&self, selection: Selection) -> Result<(), Failure> {
        self.set_up().await?;
        self.left_alone.release_due();
        with_timeout(async {
            self.delete_finished().await?;
            let query = match selection {
                Selection::All => sqlx::query(without_job!("ORDER BY created_at, id LIMIT $2"))
                    .bind(QUEUE_NAME)
                    .bind(MAX_JOBS),
                Selection::Debate(id) => sqlx::query(without_job!("AND id = $2"))
                    .bind(QUEUE_NAME)
                    .bind(id.to_string()),
            };
            let rows = query.fetch_all(&self.pool).await?;
            let jobs = rows.iter().map(job).collect::<Result<Vec<_>, _>>()?;
            if jobs.is_empty() {
                return Ok(());
            }
            let mut connection = self.pool.acquire().await?;
            match push_tasks(&mut *connection, QUEUE_NAME, jobs)
                .await
                .map_err(queue_failure)
            {
                // Another process enqueues them. The next poll finds the rest.
                Err(failure) if failure.fault == Fault::Duplicate => Ok(()),
                pushed => pushed,
            }
        })
        .await
    }

    /// Takes up to `max` jobs, oldest first.
    pub(super) async fn take(&self, max: usize) -> Result<Vec<Job>, Failure> {
        self.set_up().await?;
        let jobs = with_timeout(async {
            let mut worker = self.worker.lock().await;
            let context = self.registered(&mut worker).await?;
            let config = config().batch_size(max.max(1));
            let mut connection = self.pool.acquire().await?;
            let tasks = fetch_next(&mut *connection, &config, context)
                .await
                .map_err(queue_failure)?;
            Ok(tasks.iter().map(|task| self.job(task)).collect())
        })
        .await;
        if jobs.is_err()
            && let Some(worker) = &*self.worker.lock().await
        {
            // The queue may have assigned jobs whose reply was lost. They stay assigned while this worker lives, so it stops and
            // registers again under a new name.
            worker.stopped.cancel();
        }
        jobs
    }

    /// Up to `max` debates that should run, and whose jobs other processes have held for a second without running them: they leave
    /// them to another version. Without the ones that this process leaves alone.
    pub(super) async fn held_elsewhere(&self, max: usize) -> Result<Vec<Job>, Failure> {
        {
            let mut next = lock(&self.next_held_poll);
            if Instant::now() < *next {
                return Ok(Vec::new());
            }
            *next = Instant::now() + HELD_POLL_INTERVAL;
        }
        let query = sqlx::query(concat!(
            "SELECT debates.id FROM debates JOIN apalis.jobs ON job_type = $1 \
             AND idempotency_key = debates.id || '/' || debates.epoch \
             WHERE served = 1 AND state IN ('queued', 'running') AND lock_at < now() - INTERVAL '1 second' \
             AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
            server_now!(),
            ") ORDER BY created_at, debates.id LIMIT $2"
        ));
        let query = query.bind(QUEUE_NAME).bind(MAX_JOBS);
        let rows = with_timeout(async { Ok(query.fetch_all(&self.pool).await?) }).await?;
        let mut jobs = Vec::new();
        for row in &rows {
            let debate = parse_id(row.try_get("id")?)?;
            if jobs.len() < max && self.left_alone.get(debate).is_none() {
                jobs.push(Job {
                    // The job itself belongs to the process that holds it.
                    id: String::new(),
                    debate: Some(debate),
                    finished: FinishedJobs::default(),
                });
            }
        }
        Ok(jobs)
    }

    fn job(&self, task: &PgTask) -> Job {
        let debate = serde_json::from_slice(&task.args).ok();
        Job {
            id: task.task_id().map(ToString::to_string).unwrap_or_default(),
            debate,
            finished: Arc::clone(&self.finished),
        }
    }

    async fn registered<'w>(
        &self,
        worker: &'w mut Option<RegisteredWorker>,
    ) -> Result<&'w WorkerContext, Failure> {
        if worker
            .as_ref()
            .is_none_or(|worker| worker.stopped.is_cancelled())
        {
            let context = WorkerContext::new(&format!("{QUEUE_NAME}-{}", Uuid::new_v4()));
            register(&self.pool, &context).await?;
            let stopped = CancellationToken::new();
            self.tasks.spawn(run_heartbeat(
                self.pool.clone(),
                context.clone(),
                stopped.clone(),
            ));
            *worker = Some(RegisteredWorker { context, stopped });
        }
        worker
            .as_ref()
            .map(|worker| &worker.context)
            .ok_or_else(Failure::abandoned)
    }

    /// Finished jobs are deleted, not marked: the debate's row has the result.
    async fn delete_finished(&self) -> Result<(), Failure> {
        // They stay in the list until they are deleted, because this future may be dropped at any await.
        let finished: Vec<String> = lock(&self.finished).iter().cloned().collect();
        let worker = self.worker.lock().await;
        let name = worker
            .as_ref()
            .map(|worker| worker.context.name().to_owned());
        drop(worker);
        let Some(name) = name.filter(|_| !finished.is_empty()) else {
            return Ok(());
        };
        // Not those that were reassigned after this worker was presumed dead.
        sqlx::query("DELETE FROM apalis.jobs WHERE id = ANY($1) AND lock_by = $2")
            .bind(&finished)
            .bind(name)
            .execute(&self.pool)
            .await?;
        lock(&self.finished).retain(|id| !finished.contains(id));
        Ok(())
    }

    /// Re-enqueues what this process has released and unregisters the worker.
    pub(super) async fn close(&self) {
        self.left_alone.release_all();
        let unregister = async {
            if self.worker.lock().await.is_some() {
                self.enqueue_missing(Selection::All).await?;
            }
            if let Some(worker) = self.worker.lock().await.take() {
                worker.stopped.cancel();
                sqlx::query(
                    "DELETE FROM apalis.workers WHERE id = $1 \
                     AND NOT EXISTS (SELECT 1 FROM apalis.jobs WHERE lock_by = workers.id)",
                )
                .bind(worker.context.name())
                .execute(&self.pool)
                .await?;
            }
            Ok::<_, Failure>(())
        };
        // Best effort: other processes find the rest by polling.
        let _ = timeout(CLOSE_TIMEOUT, unregister).await;
        self.tasks.close();
        let _ = timeout(CLOSE_TIMEOUT, self.tasks.wait()).await;
        self.pool.close().await;
    }
}

fn config() -> Config {
    Config::default()
        .queue(QUEUE_NAME)
        .heartbeat_interval(HEARTBEAT_INTERVAL)
        .missed_heartbeats(MAX_MISSED_HEARTBEATS)
}

async fn with_timeout<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let done = timeout(SERVER_TIMEOUT, work).await;
    done.unwrap_or_else(|_| Err(Failure::timed_out()))
}

fn queue_failure(error: apalis_postgres::Error) -> Failure {
    match error {
        apalis_postgres::Error::Database(error) => error.into(),
        other => Failure::other(format!("job queue: {other}")),
    }
}

/// The queue's migrations need more privileges than its use, even if there is nothing to do. So check the version first.
async fn set_up(pool: &PgPool) -> Result<(), Failure> {
    let newest = PostgresStorage::migrations()
        .iter()
        .map(|migration| migration.version)
        .max();
    let current = async {
        let known =
            sqlx::query("SELECT to_regclass('apalis._sqlx_migrations') IS NOT NULL AS known")
                .fetch_one(pool)
                .await?;
        if !known.try_get::<bool, _>("known")? {
            return Ok(None);
        }
        let row = sqlx::query(
            "SELECT MAX(version) AS version FROM apalis._sqlx_migrations WHERE success",
        )
        .fetch_one(pool)
        .await?;
        row.try_get::<Option<i64>, _>("version")
    };
    if with_timeout(current.map(|version: Result<_, sqlx::Error>| Ok(version?))).await? >= newest {
        return Ok(());
    }
    // On its own connection: closing it releases the migration lock if a migration fails.
    let mut connection = pool.connect_options().connect().await?;
    let migrated = PostgresStorage::migrations()
        .run_direct(None, &mut connection, false)
        .await;
    let _ = connection.close().await;
    migrated.map_err(|error| {
        Failure::other(format!(
            "cannot set up the job queue: {error}. Run `roundtable db migrate` once as a user who may create the \
             schema apalis and the extensions hstore and pgcrypto"
        ))
    })
}

fn job(row: &sqlx::postgres::PgRow) -> Result<PgTask, Failure> {
    let id = parse_id(row.try_get("id")?)?;
    let epoch: i64 = row.try_get("epoch")?;
    let since: i64 = row.try_get("since")?;
    let args = serde_json::to_vec(&id).map_err(|error| Failure::unreadable(error.to_string()))?;
    Ok(TaskBuilder::new(args)
        .idempotency_key(format!("{id}/{epoch}"))
        .run_at_timestamp(u64::try_from(since).unwrap_or(0))
        .build())
}

/// Also deletes workers that died long ago.
async fn register(pool: &PgPool, worker: &WorkerContext) -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs().cast_signed());
    let mut transaction = pool.begin().await?;
    sqlx::query(
        "DELETE FROM apalis.workers WHERE worker_type = $1 AND last_seen < now() - INTERVAL '1 hour' \
         AND NOT EXISTS (SELECT 1 FROM apalis.jobs WHERE lock_by = workers.id)",
    )
    .bind(QUEUE_NAME)
    .execute(&mut *transaction)
    .await?;
    register_worker(
        &mut *transaction,
        QUEUE_NAME,
        worker,
        &now.into(),
        "PgStorage",
    )
    .await
    .map_err(queue_failure)?;
    // Sets the first heartbeat on the server's clock.
    keep_alive(&mut *transaction, QUEUE_NAME, worker)
        .await
        .map_err(queue_failure)?;
    transaction.commit().await?;
    Ok(())
}

/// Sends a worker's heartbeats and re-enqueues the jobs of dead workers.
async fn run_heartbeat(pool: PgPool, worker: WorkerContext, stopped: CancellationToken) {
    let mut next = Instant::now() + HEARTBEAT_INTERVAL;
    loop {
        tokio::select! {
            () = stopped.cancelled() => return,
            () = sleep_until(next) => {}
        }
        next = Instant::now() + HEARTBEAT_INTERVAL;
        match with_timeout(send_heartbeat(&pool, &worker)).await {
            // It registers again when it takes the next job.
            Ok(Heartbeat::UnknownWorker) => return stopped.cancel(),
            // After an error, the next heartbeat may succeed.
            Ok(Heartbeat::Accepted) | Err(_) => {}
        }
    }
}

enum Heartbeat {
    Accepted,
    UnknownWorker,
}

async fn send_heartbeat(pool: &PgPool, worker: &WorkerContext) -> Result<Heartbeat, Failure> {
    let mut transaction: Transaction<'_, Postgres> = pool.begin().await?;
    match keep_alive(&mut *transaction, QUEUE_NAME, worker).await {
        Ok(()) => {}
        Err(apalis_postgres::Error::WorkerOutOfSync) => return Ok(Heartbeat::UnknownWorker),
        Err(error) => return Err(queue_failure(error)),
    }
    let dead_for = config().orphaned_duration().as_secs();
    reenqueue_orphaned(&mut *transaction, QUEUE_NAME, dead_for)
        .await
        .map_err(queue_failure)?;
    transaction.commit().await?;
    Ok(Heartbeat::Accepted)
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
