use std::collections::BTreeSet;
use std::time::Duration;

use roundtable_engine::journal::JournalError;

use super::*;
use crate::store::commands::{Command, CommandOutcome, PendingCommand};
use crate::store::fixtures::{ended, finished, keyed, opened, setup, spent};
use crate::store::ownership::LEASE_DURATION;
use crate::store::test_stores::Place;

async fn queued(store: &Store, number: usize) -> BTreeSet<Uuid> {
    let mut ids = BTreeSet::new();
    for at in 0..number {
        let id = Uuid::new_v4();
        let sent = CreateRequest::default();
        store
            .create_queued(id, &setup("Why?"), at as u64, &sent)
            .await
            .unwrap();
        ids.insert(id);
    }
    ids
}

fn ids(leases: &[Lease]) -> BTreeSet<Uuid> {
    leases.iter().map(Lease::id).collect()
}

/// B-04: any number of workers at once get each debate once, none twice and none never.
#[tokio::test(flavor = "multi_thread")]
async fn b04_workers_that_ask_at_once_share_the_work() {
    let place = Place::server();
    let front = place.open().await;
    let all = queued(&front, 40).await;
    let workers = futures::future::join_all((0..4).map(|_| place.open())).await;
    let taken = futures::future::join_all(workers.iter().map(async |worker| {
        let mut leases = Vec::new();
        loop {
            let more = worker.lease_jobs(3).await.unwrap();
            if more.is_empty() {
                return leases;
            }
            leases.extend(more);
        }
    }))
    .await;
    let each: Vec<_> = taken.iter().map(|leases| ids(leases)).collect();
    assert_eq!(each.iter().map(BTreeSet::len).sum::<usize>(), 40);
    assert_eq!(each.into_iter().flatten().collect::<BTreeSet<_>>(), all);
    // What is held is nobody else's, and what is let go of or ended is as it should be.
    let first = taken.into_iter().flatten().next().unwrap();
    let id = first.id();
    assert_eq!(front.lease(id).await.unwrap_err(), LeaseError::Held { id });
}

/// B-04: the oldest first, and never one that is over, waits for a person, or is run on somebody's command line.
#[tokio::test]
async fn b04_only_what_is_to_be_run_is_taken() {
    let place = Place::server();
    let store = place.open().await;
    let command = store
        .create(Uuid::new_v4(), &setup("Mine"), 0)
        .await
        .unwrap();
    drop(command);
    let waiting = queued(&store, 2).await;
    for (state, number) in [(State::Complete, 1), (State::Waiting, 2)] {
        let Created::New(lease) = store
            .create_for_server(
                Uuid::new_v4(),
                &setup("Over"),
                0,
                State::Running,
                &CreateRequest::default(),
            )
            .await
            .unwrap()
        else {
            panic!("not new")
        };
        let mut end = keyed(2, ended(state));
        end.key = format!("ended-{number}");
        lease
            .journal()
            .append(vec![keyed(1, opened("Over")), end])
            .await
            .unwrap();
    }
    let one = store.lease_jobs(1).await.unwrap();
    let two = store.lease_jobs(10).await.unwrap();
    assert_eq!((one.len(), two.len()), (1, 1));
    assert_eq!(
        ids(&[one, two].into_iter().flatten().collect::<Vec<_>>()),
        waiting
    );
}

/// C-08, B-04: a zombie, taken for dead and come back, writes nothing; that is another error than a step written twice.
#[tokio::test]
async fn b04_one_that_was_taken_for_dead_is_fenced_and_knows_it() {
    let place = Place::server();
    let (zombie, next) = (place.open().await, place.open().await);
    let id = *queued(&zombie, 1).await.first().unwrap();
    let held = zombie.lease_jobs(1).await.unwrap().pop().unwrap();
    let old = held.journal();
    let begun = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(None))),
    ];
    old.append(begun.clone()).await.unwrap();
    assert_eq!(next.lease_jobs(1).await.unwrap().len(), 0);
    assert!(!held.lost().is_cancelled());

    // As after a long sleep: the database has not heard from it.
    let Place::Server(database) = &place else {
        unreachable!()
    };
    database.sql("UPDATE owners SET lives_until = 0 WHERE id = (SELECT owner FROM debates)");
    next.enqueue_missing_jobs().await.unwrap();
    let lease = next.lease_jobs(1).await.unwrap().pop().unwrap();
    assert_eq!(lease.id(), id);
    let step = keyed(3, finished("r1/b", spent(None)));
    assert_eq!(
        old.append(vec![step.clone()]).await,
        Err(JournalError::Fenced)
    );
    assert_eq!(
        lease
            .journal()
            .append(vec![keyed(3, finished("r1/a", spent(None)))])
            .await,
        Err(JournalError::Duplicate { key: "r1/a".into() })
    );
    lease.journal().append(vec![step]).await.unwrap();
    // It finds out by itself, with its next sign of life.
    tokio::time::timeout(Duration::from_secs(3), held.lost().cancelled())
        .await
        .unwrap();
    // And letting go of what is no longer its own frees nothing.
    drop(held);
    zombie.close().await;
    assert_eq!(next.lease(id).await.unwrap_err(), LeaseError::Held { id });
}

/// B-04: who cannot reach the database any more stops before others may begin.
#[tokio::test]
async fn b04_one_that_cannot_renew_stops_before_others_may_take_over() {
    let place = Place::server();
    let store = place.open().await;
    queued(&store, 1).await;
    let held = store.lease_jobs(1).await.unwrap().pop().unwrap();
    let Place::Server(database) = &place else {
        unreachable!()
    };
    // No connection to it succeeds from here on, and those there are end.
    let name = database.sql("SELECT current_database()");
    let cut = std::time::Instant::now();
    database.sql_elsewhere(&format!(
        "ALTER DATABASE {name} ALLOW_CONNECTIONS false; \
         SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'"
    ));
    tokio::time::timeout(LEASE_DURATION, held.lost().cancelled())
        .await
        .unwrap();
    assert!(cut.elapsed() < LEASE_DURATION);
}

/// B-04: news carry ids and nothing else, and reach whoever listens in another process.
#[tokio::test]
async fn b04_news_of_entries_and_of_work_reach_others() {
    let place = Place::server();
    let (here, there) = (place.open().await, place.open().await);
    let mut news = there.listen().await.unwrap().unwrap();
    queued(&here, 1).await;
    assert_eq!(news.next().await, Ok(Notification::Work));
    let lease = here.lease_jobs(1).await.unwrap().pop().unwrap();
    lease
        .journal()
        .append(vec![keyed(1, opened("Why?"))])
        .await
        .unwrap();
    assert_eq!(news.next().await, Ok(Notification::Entries(lease.id())));
    assert!(
        Place::folder()
            .open()
            .await
            .listen()
            .await
            .unwrap()
            .is_none()
    );
}

/// B-04: what is wanted of a debate comes to whoever runs it, once, and the answer comes back.
#[tokio::test]
async fn b04_orders_go_to_whoever_holds_the_debate() {
    let place = Place::server();
    let (front, worker, other) = (place.open().await, place.open().await, place.open().await);
    let debate = *queued(&front, 1).await.first().unwrap();
    let _claim = worker.lease_jobs(1).await.unwrap();
    let command = Command::Say {
        text: "Wait!".into(),
        by: Some("Ada".into()),
    };
    let id = front.send_command(debate, &command).await.unwrap();
    assert_eq!(other.take_commands().await.unwrap(), []);
    assert_eq!(
        worker.take_commands().await.unwrap(),
        [PendingCommand {
            id,
            debate,
            command
        }]
    );
    assert_eq!(worker.take_commands().await.unwrap(), []);
    assert_eq!(front.command_outcome(id).await, Ok(None));
    worker
        .answer_command(id, &CommandOutcome::Heard(1))
        .await
        .unwrap();
    assert_eq!(front.command_outcome(id).await, Ok(Some(CommandOutcome::Heard(1))));
    front.withdraw_command(id).await.unwrap();
    assert_eq!(front.command_outcome(id).await, Ok(None));
}
