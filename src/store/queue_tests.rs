use super::*;
use crate::store::fixtures::{ended, keyed, opened, setup};
use crate::store::location::Home;
use crate::store::test_stores::{Place, postgres};
use crate::store::{CreateRequest, Store, StoreError};
use roundtable_engine::event::State;

/// A store on a server, and a debate in it that anybody may run.
struct Story {
    place: Place,
    store: Store,
    debate: Uuid,
}

impl Story {
    async fn new() -> Self {
        let place = Place::server();
        let store = place.open().await;
        let debate = Uuid::new_v4();
        store
            .create_queued(debate, &setup("Why?"), 0, &CreateRequest::default())
            .await
            .unwrap();
        Self {
            place,
            store,
            debate,
        }
    }

    fn database(&self) -> &postgres::Database {
        let Place::Server(database) = &self.place else {
            unreachable!()
        };
        database
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

/// B-04: a debate that is to be run has one job, however many look for it at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn b04_what_is_to_be_run_has_one_job() {
    let story = Story::new().await;
    assert_eq!(story.jobs(), story.job("Pending", 1));
    story.database().sql("DELETE FROM apalis.jobs");
    let all = futures::future::join_all((0..4).map(|_| story.place.open())).await;
    let handed = futures::future::join_all(all.iter().map(Store::enqueue_missing_jobs)).await;
    assert!(handed.iter().all(Result::is_ok), "{handed:?}");
    assert_eq!(story.jobs(), story.job("Pending", 1));
}

/// B-04: who takes a job has it until it lets go of the debate; what was not brought to its end then gets a new one.
#[tokio::test]
async fn b04_a_job_is_over_when_its_debate_is_let_go_of() {
    let story = Story::new().await;
    let lease = story.store.lease_jobs(1).await.unwrap().pop().unwrap();
    story.store.enqueue_missing_jobs().await.unwrap();
    // Held, and leased once: the epoch was raised twice.
    assert_eq!(story.jobs(), story.job("Queued", 1));
    drop(lease);
    while !story.jobs().starts_with("Pending") {
        story.store.enqueue_missing_jobs().await.unwrap();
    }
    assert_eq!(story.jobs(), story.job("Pending", 3));
    let lease = story.store.lease_jobs(1).await.unwrap().pop().unwrap();
    let entries = vec![keyed(1, opened("Why?")), keyed(2, ended(State::Complete))];
    lease.journal().append(entries).await.unwrap();
    drop(lease);
    story.store.enqueue_missing_jobs().await.unwrap();
    assert_eq!(story.jobs(), "");
}

/// B-04: a job for a debate that is gone, over, or run by somebody else finds nothing to do, and that is the end of it.
#[tokio::test]
async fn b04_a_job_too_many_does_no_harm() {
    let story = Story::new().await;
    let held = story.store.lease_for_server(story.debate).await.unwrap();
    assert_eq!(story.jobs(), story.job("Pending", 1));
    let other = story.place.open().await;
    story.database().sql(
        "INSERT INTO apalis.jobs (id, job_type, job) VALUES \
         ('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'roundtable', convert_to('\"00000000-0000-4000-8000-000000000000\"', 'UTF8')), \
         ('01ARZ3NDEKTSV4RRFFQ69G5FAW', 'roundtable', convert_to('no debate', 'UTF8'))",
    );
    assert_eq!(other.lease_jobs(10).await.unwrap().len(), 0);
    other.enqueue_missing_jobs().await.unwrap();
    assert_eq!(story.jobs(), "");
    assert!(!held.lost().is_cancelled());
}

/// B-04: a worker that gives no sign of life for longer than it may is dead, within 10 s, and its jobs are anybody's.
#[tokio::test]
async fn b04_jobs_of_a_dead_worker_come_back() {
    let noticed = config().orphaned_duration() + BEAT;
    assert!(noticed < Duration::from_secs(10), "{noticed:?}");

    let story = Story::new().await;
    let _claim = story.store.lease_jobs(1).await.unwrap().pop().unwrap();
    let other = story.place.open().await;
    assert_eq!(other.lease_jobs(1).await.unwrap().len(), 0);
    let age = |seconds: u64| {
        format!(
            "UPDATE apalis.workers SET last_seen = now() - INTERVAL '{seconds} seconds' \
             WHERE id = (SELECT lock_by FROM apalis.jobs)"
        )
    };
    // The dead do not speak.
    let Home::Server(server) = &*story.store.home else {
        unreachable!()
    };
    server
        .queue
        .worker
        .lock()
        .await
        .as_ref()
        .unwrap()
        .gone
        .cancel();
    let orphaned = config().orphaned_duration().as_secs();
    story.database().sql(&age(orphaned - 3));
    tokio::time::sleep(BEAT + BEAT / 4).await;
    assert_eq!(story.jobs(), story.job("Queued", 1));
    story.database().sql(&age(orphaned));
    tokio::time::sleep(BEAT + BEAT / 4).await;
    assert_eq!(story.jobs(), story.job("Pending", 1));
}

/// B-04: a job that the queue has given out and whose taker never got to know of it is not lost with the answer.
#[tokio::test]
async fn b04_a_job_whose_taker_never_heard_of_it_comes_back() {
    let story = Story::new().await;
    let Home::Server(server) = &*story.store.home else {
        unreachable!()
    };
    // As if the answer had been lost.
    std::mem::forget(server.queue.take(1).await.unwrap());
    assert_eq!(story.jobs(), story.job("Queued", 1));
    let rename = |from: &str, to: &str| {
        let sql = format!("ALTER FUNCTION apalis.{from}(text, text, integer) RENAME TO {to}");
        story.database().sql(&sql);
    };
    rename("get_jobs", "away");
    server.queue.take(1).await.unwrap_err();
    rename("away", "get_jobs");
    let orphaned = config().orphaned_duration().as_secs();
    story.database().sql(&format!(
        "UPDATE apalis.workers SET last_seen = now() - INTERVAL '{orphaned} seconds'"
    ));
    assert_eq!(story.store.lease_jobs(1).await.unwrap().len(), 0);
    tokio::time::sleep(BEAT + BEAT / 4).await;
    let lease = story.store.lease_jobs(1).await.unwrap().pop().unwrap();
    assert_eq!(lease.id(), story.debate);
}

/// B-04: what a worker that ends has not brought to its end is handed to the others at once.
#[tokio::test]
async fn b04_a_worker_that_leaves_hands_over() {
    let story = Story::new().await;
    let other = story.place.open().await;
    let lease = story.store.lease_jobs(1).await.unwrap().pop().unwrap();
    assert_eq!(other.lease_jobs(1).await.unwrap().len(), 0);
    drop(lease);
    story.store.close().await;
    let lease = other.lease_jobs(1).await.unwrap().pop().unwrap();
    assert_eq!(lease.id(), story.debate);
    let workers = "SELECT count(*) FROM apalis.workers";
    assert_eq!(story.database().sql(workers), "1");
}

/// B-04: a worker that the queue has forgotten makes itself known again.
#[tokio::test]
async fn b04_a_forgotten_worker_registers_anew() {
    let story = Story::new().await;
    drop(story.store.lease_jobs(1).await.unwrap());
    while !story.jobs().starts_with("Pending") {
        story.store.enqueue_missing_jobs().await.unwrap();
    }
    story.database().sql("DELETE FROM apalis.workers");
    tokio::time::sleep(BEAT + BEAT / 4).await;
    assert_eq!(story.store.lease_jobs(1).await.unwrap().len(), 1);
}

/// B-04: who may not set the queue up says what it takes; once it is there, using it takes no such right.
#[tokio::test]
async fn b04_setting_up_needs_rights_and_using_does_not() {
    let place = Place::server();
    let Place::Server(database) = &place else {
        unreachable!()
    };
    place.open().await.close().await;
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
    let told = refused.to_string();
    for part in [
        "permission denied",
        "roundtable db migrate",
        "hstore",
        "pgcrypto",
    ] {
        assert!(told.contains(part), "{told}");
    }
    place.open().await.set_up_queue().await.unwrap();
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
