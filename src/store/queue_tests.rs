use super::*;
use crate::store::location::Location;
use crate::store::test_stores::{TestStore, postgres};
use crate::store::test_support::{ended, keyed, opened, setup};
use crate::store::{CreateRequest, Store, StoreError};
use roundtable_engine::event::State;

/// A store on a server with one queued debate.
struct QueuedDebate {
    test_store: TestStore,
    store: Store,
    debate: Uuid,
}

impl QueuedDebate {
    async fn new() -> Self {
        let test_store = TestStore::postgres();
        let store = test_store.open().await;
        let debate = Uuid::new_v4();
        store
            .create_queued(debate, &setup("Why?"), 0, &CreateRequest::default())
            .await
            .unwrap();
        Self {
            test_store,
            store,
            debate,
        }
    }

    fn database(&self) -> &postgres::Database {
        self.test_store.database()
    }

    /// Status and debate/epoch of all jobs.
    fn jobs(&self) -> String {
        self.database().sql(
            "SELECT COALESCE(string_agg(status || ' ' || idempotency_key, ', ' ORDER BY idempotency_key), '') FROM apalis.jobs",
        )
    }

    fn job(&self, status: &str, epoch: u64) -> String {
        format!("{status} {}/{epoch}", self.debate)
    }
}

/// B-04: a queued debate has one job, however many processes enqueue it at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn b04_a_queued_debate_has_one_job() {
    let queued = QueuedDebate::new().await;
    assert_eq!(queued.jobs(), queued.job("Pending", 1));
    queued.database().sql("DELETE FROM apalis.jobs");
    let all = futures::future::join_all((0..4).map(|_| queued.test_store.open())).await;
    let enqueued = futures::future::join_all(all.iter().map(Store::enqueue_missing_jobs)).await;
    assert!(enqueued.iter().all(Result::is_ok), "{enqueued:?}");
    assert_eq!(queued.jobs(), queued.job("Pending", 1));
}

/// B-04: a job lasts until its worker releases the debate; an unfinished debate then gets a new job.
#[tokio::test]
async fn b04_a_job_is_finished_when_its_debate_is_released() {
    let queued = QueuedDebate::new().await;
    let lease = queued.store.lease_jobs(1).await.unwrap().pop().unwrap();
    queued.store.enqueue_missing_jobs().await.unwrap();
    // Taking ownership and leasing raised the epoch twice.
    assert_eq!(queued.jobs(), queued.job("Queued", 1));
    drop(lease);
    while !queued.jobs().starts_with("Pending") {
        queued.store.enqueue_missing_jobs().await.unwrap();
    }
    assert_eq!(queued.jobs(), queued.job("Pending", 3));
    let lease = queued.store.lease_jobs(1).await.unwrap().pop().unwrap();
    let entries = vec![keyed(1, opened("Why?")), keyed(2, ended(State::Complete))];
    lease.journal().append(entries).await.unwrap();
    drop(lease);
    queued.store.enqueue_missing_jobs().await.unwrap();
    assert_eq!(queued.jobs(), "");
}

/// B-04: a job for a debate that is deleted, ended, or run by another process is dropped.
#[tokio::test]
async fn b04_a_surplus_job_is_harmless() {
    let queued = QueuedDebate::new().await;
    let held = queued.store.lease_for_server(queued.debate).await.unwrap();
    assert_eq!(queued.jobs(), queued.job("Pending", 1));
    let other = queued.test_store.open().await;
    queued.database().sql(
        "INSERT INTO apalis.jobs (id, job_type, job) VALUES \
         ('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'roundtable', convert_to('\"00000000-0000-4000-8000-000000000000\"', 'UTF8')), \
         ('01ARZ3NDEKTSV4RRFFQ69G5FAW', 'roundtable', convert_to('no debate', 'UTF8'))",
    );
    assert_eq!(other.lease_jobs(10).await.unwrap().len(), 0);
    other.enqueue_missing_jobs().await.unwrap();
    assert_eq!(queued.jobs(), "");
    assert!(!held.lost().is_cancelled());
}

/// B-04: the jobs of a worker without heartbeats are re-enqueued within 10 s.
#[tokio::test]
async fn b04_jobs_of_a_dead_worker_are_enqueued_again() {
    let noticed = config().orphaned_duration() + HEARTBEAT_INTERVAL;
    assert!(noticed < Duration::from_secs(10), "{noticed:?}");

    let queued = QueuedDebate::new().await;
    let _lease = queued.store.lease_jobs(1).await.unwrap().pop().unwrap();
    let other = queued.test_store.open().await;
    assert_eq!(other.lease_jobs(1).await.unwrap().len(), 0);
    let age = |seconds: u64| {
        format!(
            "UPDATE apalis.workers SET last_seen = now() - INTERVAL '{seconds} seconds' \
             WHERE id = (SELECT lock_by FROM apalis.jobs)"
        )
    };
    // Stops the heartbeats.
    let Location::Server(server) = &*queued.store.location else {
        unreachable!()
    };
    server
        .queue
        .worker
        .lock()
        .await
        .as_ref()
        .unwrap()
        .stopped
        .cancel();
    let orphaned = config().orphaned_duration().as_secs();
    queued.database().sql(&age(orphaned - 3));
    tokio::time::sleep(HEARTBEAT_INTERVAL + HEARTBEAT_INTERVAL / 4).await;
    assert_eq!(queued.jobs(), queued.job("Queued", 1));
    queued.database().sql(&age(orphaned));
    tokio::time::sleep(HEARTBEAT_INTERVAL + HEARTBEAT_INTERVAL / 4).await;
    assert_eq!(queued.jobs(), queued.job("Pending", 1));
}

/// B-04: a job that was assigned, but whose reply was lost, is re-enqueued.
#[tokio::test]
async fn b04_a_job_whose_reply_was_lost_is_enqueued_again() {
    let queued = QueuedDebate::new().await;
    let Location::Server(server) = &*queued.store.location else {
        unreachable!()
    };
    // As if the reply had been lost.
    std::mem::forget(server.queue.take(1).await.unwrap());
    assert_eq!(queued.jobs(), queued.job("Queued", 1));
    let rename = |from: &str, to: &str| {
        let sql = format!("ALTER FUNCTION apalis.{from}(text, text, integer) RENAME TO {to}");
        queued.database().sql(&sql);
    };
    rename("get_jobs", "away");
    server.queue.take(1).await.unwrap_err();
    rename("away", "get_jobs");
    let orphaned = config().orphaned_duration().as_secs();
    queued.database().sql(&format!(
        "UPDATE apalis.workers SET last_seen = now() - INTERVAL '{orphaned} seconds'"
    ));
    assert_eq!(queued.store.lease_jobs(1).await.unwrap().len(), 0);
    tokio::time::sleep(HEARTBEAT_INTERVAL + HEARTBEAT_INTERVAL / 4).await;
    let lease = queued.store.lease_jobs(1).await.unwrap().pop().unwrap();
    assert_eq!(lease.id(), queued.debate);
}

/// B-04: the unfinished debates of a worker that shuts down are re-enqueued at once.
#[tokio::test]
async fn b04_a_worker_that_shuts_down_hands_over() {
    let queued = QueuedDebate::new().await;
    let other = queued.test_store.open().await;
    let lease = queued.store.lease_jobs(1).await.unwrap().pop().unwrap();
    assert_eq!(other.lease_jobs(1).await.unwrap().len(), 0);
    drop(lease);
    queued.store.close().await;
    let lease = other.lease_jobs(1).await.unwrap().pop().unwrap();
    assert_eq!(lease.id(), queued.debate);
    let workers = "SELECT count(*) FROM apalis.workers";
    assert_eq!(queued.database().sql(workers), "1");
}

/// B-04: a worker that was deleted from the queue registers again.
#[tokio::test]
async fn b04_a_deleted_worker_registers_again() {
    let queued = QueuedDebate::new().await;
    drop(queued.store.lease_jobs(1).await.unwrap());
    while !queued.jobs().starts_with("Pending") {
        queued.store.enqueue_missing_jobs().await.unwrap();
    }
    queued.database().sql("DELETE FROM apalis.workers");
    tokio::time::sleep(HEARTBEAT_INTERVAL + HEARTBEAT_INTERVAL / 4).await;
    assert_eq!(queued.store.lease_jobs(1).await.unwrap().len(), 1);
}

/// B-04: setting up the queue needs privileges, and the error names them; using it does not.
#[tokio::test]
async fn b04_setting_up_needs_privileges_and_using_does_not() {
    let test_store = TestStore::postgres();
    let database = test_store.database();
    test_store.open().await.close().await;
    let user = format!("u{}", Uuid::new_v4().simple());
    database.sql(&format!(
        "CREATE ROLE {user} LOGIN; GRANT ALL ON SCHEMA public TO {user}; \
         GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}"
    ));
    let url = database.url().replace("postgres@", &format!("{user}@"));
    let limited = Store::at(&crate::store::Address::parse(&url))
        .await
        .unwrap();
    let refused = limited.set_up_queue().await.unwrap_err();
    assert!(matches!(refused, StoreError::Server { .. }));
    let message = refused.to_string();
    for part in [
        "permission denied",
        "roundtable db migrate",
        "hstore",
        "pgcrypto",
    ] {
        assert!(message.contains(part), "{message}");
    }
    test_store.open().await.set_up_queue().await.unwrap();
    database.sql(&format!(
        "GRANT USAGE ON SCHEMA apalis TO {user}; GRANT ALL ON ALL TABLES IN SCHEMA apalis TO {user}"
    ));
    limited.set_up_queue().await.unwrap();
    limited
        .create_queued(Uuid::new_v4(), &setup("Why?"), 0, &CreateRequest::default())
        .await
        .unwrap();
    assert_eq!(limited.lease_jobs(1).await.unwrap().len(), 1);
    limited.close().await;
    database.sql(&format!("DROP OWNED BY {user}; DROP ROLE {user}"));
}
