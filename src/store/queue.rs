//! Who is handed which debate on a `PostgreSQL` server: the queue of `apalis-postgres` (B-04).
//!
//! A job is one occasion to run a debate: it names the debate and the epoch it stands at. It is over when whoever took it lets
//! go of the debate, however that came about, and is then taken out. Every debate that is to be run, that nobody living holds and
//! that has no job at its epoch gets one ([`Queue::enqueue_job`]); all processes look for such debates all the time.
//!
//! So nothing rests on the queue. A job that is lost is made again, one too many finds nothing to do, and what makes an append
//! correct is the epoch alone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as Lock, PoisonError};
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
use super::folder::PATIENCE;
use super::row::parse_id;

/// The name of our jobs among those of other programs in the same database.
const NAME: &str = "roundtable";
/// A worker that misses four of these in a row is dead: its jobs are anybody's after 6 s.
const BEAT: Duration = Duration::from_millis(1_500);
const MISSED: usize = 4;
/// How many debates get a job with one statement.
const AT_ONCE: i64 = 500;
/// One for signs of life and one for everything else.
const CONNECTIONS: u32 = 2;

/// The channel on which the queue tells of a new job.
pub(super) const NEW_JOBS: &str = "apalis::job::insert";

#[derive(Debug)]
pub(super) struct Queue {
    pool: PgPool,
    is_set_up: OnceCell<()>,
    /// This process, where it takes jobs.
    worker: Mutex<Option<Registered>>,
    over: Over,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Registered {
    context: WorkerContext,
    /// Cancelled when the queue does not know it any more, or when it leaves.
    gone: CancellationToken,
}

/// Jobs whose debates were let go of and that are still in the queue.
type Over = Arc<Lock<BTreeSet<String>>>;

/// A job that was taken. Dropped, it is over.
#[derive(Debug)]
pub(super) struct Job {
    id: String,
    debate: Option<Uuid>,
    over: Over,
}

impl Job {
    /// `None` where it names none.
    pub(super) fn debate(&self) -> Option<Uuid> {
        self.debate
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let id = std::mem::take(&mut self.id);
        let over = self.over.lock();
        over.unwrap_or_else(PoisonError::into_inner).insert(id);
    }
}

/// Which debates are to get a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    This(Uuid),
}

/// Debates that are to be run, that nobody living holds, and that have no job. What is older than the clock of the server goes
/// first; nothing waits for a clock that is behind another.
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
            .max_connections(CONNECTIONS)
            .acquire_timeout(2 * PATIENCE)
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
            over: Over::default(),
            tasks: TaskTracker::new(),
        })
    }

    /// Makes the queue's own tables, where they are not there or not those of this version.
    pub(super) async fn set_up(&self) -> Result<(), Failure> {
        self.is_set_up
            .get_or_try_init(|| set_up(&self.pool))
            .await
            .copied()
    }

    /// Takes out what is over, and gives a job to every debate that needs one.
    pub(super) async fn enqueue_job(&self, which: Which) -> Result<(), Failure> {
        self.set_up().await?;
        in_time(async {
            self.take_out().await?;
            let found = match which {
                Which::All => sqlx::query(without_job!("ORDER BY created_at, id LIMIT $2"))
                    .bind(NAME)
                    .bind(AT_ONCE),
                Which::This(id) => sqlx::query(without_job!("AND id = $2"))
                    .bind(NAME)
                    .bind(id.to_string()),
            };
            let rows = found.fetch_all(&self.pool).await?;
            let jobs = rows.iter().map(job).collect::<Result<Vec<_>, _>>()?;
            if jobs.is_empty() {
                return Ok(());
            }
            let mut connection = self.pool.acquire().await?;
            match push_tasks(&mut *connection, NAME, jobs)
                .await
                .map_err(failed)
            {
                // Somebody else is handing them out. What is left is found with the next look.
                Err(failure) if failure.fault == Fault::Taken => Ok(()),
                pushed => pushed,
            }
        })
        .await
    }

    /// Takes up to `most` jobs, those that have waited longest first.
    pub(super) async fn take(&self, most: usize) -> Result<Vec<Job>, Failure> {
        self.set_up().await?;
        let taken = in_time(async {
            let mut worker = self.worker.lock().await;
            let context = self.registered(&mut worker).await?;
            let config = config().batch_size(most.max(1));
            let mut connection = self.pool.acquire().await?;
            let taken = fetch_next(&mut *connection, &config, context)
                .await
                .map_err(failed)?;
            Ok(taken.iter().map(|task| self.taken(task)).collect())
        })
        .await;
        if taken.is_err()
            && let Some(worker) = &*self.worker.lock().await
        {
            // It may have been given jobs without getting to know them. Nobody else has them as long as this worker lives, so it
            // dies, and comes back as another.
            worker.gone.cancel();
        }
        taken
    }

    fn taken(&self, task: &PgTask) -> Job {
        let debate = serde_json::from_slice(&task.args).ok();
        Job {
            id: task.task_id().map(ToString::to_string).unwrap_or_default(),
            debate,
            over: Arc::clone(&self.over),
        }
    }

    async fn registered<'w>(
        &self,
        worker: &'w mut Option<Registered>,
    ) -> Result<&'w WorkerContext, Failure> {
        if worker.as_ref().is_none_or(|it| it.gone.is_cancelled()) {
            let context = WorkerContext::new(&format!("{NAME}-{}", Uuid::new_v4()));
            register(&self.pool, &context).await?;
            let gone = CancellationToken::new();
            let (pool, beating, until) = (self.pool.clone(), context.clone(), gone.clone());
            self.tasks
                .spawn(async move { beat(&pool, &beating, &until).await });
            *worker = Some(Registered { context, gone });
        }
        worker
            .as_ref()
            .map(|it| &it.context)
            .ok_or_else(Failure::lost)
    }

    /// What is over says so nowhere else: the debate's row tells how it ended.
    async fn take_out(&self) -> Result<(), Failure> {
        // They stay in the list until they are known to be out: whoever waits for that may go away.
        let over: Vec<String> = {
            let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
            over.iter().cloned().collect()
        };
        let name = {
            let worker = self.worker.lock().await;
            worker.as_ref().map(|it| it.context.name().to_owned())
        };
        let Some(name) = name.filter(|_| !over.is_empty()) else {
            return Ok(());
        };
        // Not those that others have been given since this process was taken for dead.
        sqlx::query("DELETE FROM apalis.jobs WHERE id = ANY($1) AND lock_by = $2")
            .bind(&over)
            .bind(name)
            .execute(&self.pool)
            .await?;
        let mut still = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        still.retain(|id| !over.contains(id));
        Ok(())
    }

    /// Leaves. What this process has let go of is handed to others at once.
    pub(super) async fn close(&self) {
        let leaving = async {
            if self.worker.lock().await.is_some() {
                self.enqueue_job(Which::All).await?;
            }
            if let Some(worker) = self.worker.lock().await.take() {
                worker.gone.cancel();
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
        // Whoever is left finds all of it by looking.
        let _ = timeout(PATIENCE, leaving).await;
        self.tasks.close();
        let _ = timeout(PATIENCE, self.tasks.wait()).await;
        self.pool.close().await;
    }
}

fn config() -> Config {
    Config::default()
        .queue(NAME)
        .heartbeat_interval(BEAT)
        .missed_heartbeats(MISSED)
}

async fn in_time<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let done = timeout(2 * PATIENCE, work).await;
    done.unwrap_or_else(|_| Err(Failure::silent()))
}

fn failed(error: apalis_postgres::Error) -> Failure {
    if let apalis_postgres::Error::Database(error) = error {
        return error.into();
    }
    Failure {
        fault: Fault::Other,
        detail: format!("its queue: {error}"),
    }
}

/// The queue's migrations want more rights than its use, even where there is nothing to do: so it is looked first.
async fn set_up(pool: &PgPool) -> Result<(), Failure> {
    let newest = PostgresStorage::migrations()
        .iter()
        .map(|migration| migration.version)
        .max();
    let there = async {
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
    if in_time(there.map(|found: Result<_, sqlx::Error>| Ok(found?))).await? >= newest {
        return Ok(());
    }
    // On a connection of its own: where a migration fails, it goes away with the lock that it holds.
    let mut connection = pool.connect_options().connect().await?;
    let migrated = PostgresStorage::migrations()
        .run_direct(None, &mut connection, false)
        .await;
    let _ = connection.close().await;
    migrated.map_err(|error| Failure {
        fault: Fault::Other,
        detail: format!(
            "the queue for its workers cannot be set up: {error}. Run `roundtable db migrate` once as a user who may make the \
             schema apalis and the extensions hstore and pgcrypto there"
        ),
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

/// Workers that died long ago go on the way.
async fn register(pool: &PgPool, worker: &WorkerContext) -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs().cast_signed());
    let mut writing = pool.begin().await?;
    sqlx::query(
        "DELETE FROM apalis.workers WHERE worker_type = $1 AND last_seen < now() - INTERVAL '1 hour' \
         AND NOT EXISTS (SELECT 1 FROM apalis.jobs WHERE lock_by = workers.id)",
    )
    .bind(NAME)
    .execute(&mut *writing)
    .await?;
    register_worker(&mut *writing, NAME, worker, &now.into(), "PgStorage")
        .await
        .map_err(failed)?;
    // By the clock of the server from the first moment on.
    keep_alive(&mut *writing, NAME, worker)
        .await
        .map_err(failed)?;
    writing.commit().await?;
    Ok(())
}

/// Says for a worker that it lives, and puts jobs of those that do not back into the queue.
async fn beat(pool: &PgPool, worker: &WorkerContext, gone: &CancellationToken) {
    let mut next = Instant::now() + BEAT;
    loop {
        tokio::select! {
            () = gone.cancelled() => return,
            () = sleep_until(next) => {}
        }
        next = Instant::now() + BEAT;
        match in_time(sign_of_life(pool, worker)).await {
            // It registers anew with the next job that it takes.
            Ok(Known::No) => return gone.cancel(),
            // Where this one did not get through, the next one may.
            Ok(Known::Yes) | Err(_) => {}
        }
    }
}

enum Known {
    Yes,
    No,
}

async fn sign_of_life(pool: &PgPool, worker: &WorkerContext) -> Result<Known, Failure> {
    let mut writing: Transaction<'_, Postgres> = pool.begin().await?;
    match keep_alive(&mut *writing, NAME, worker).await {
        Ok(()) => {}
        Err(apalis_postgres::Error::WorkerOutOfSync) => return Ok(Known::No),
        Err(error) => return Err(failed(error)),
    }
    let dead_for = config().orphaned_duration().as_secs();
    reenqueue_orphaned(&mut *writing, NAME, dead_for)
        .await
        .map_err(failed)?;
    writing.commit().await?;
    Ok(Known::Yes)
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
