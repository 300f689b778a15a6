use std::collections::BTreeSet;
use std::time::Duration;

use roundtable_engine::journal::JournalError;

use super::*;
use crate::store::commands::{Command, CommandOutcome, PendingCommand};
use crate::store::ownership::LEASE_DURATION;
use crate::store::test_stores::TestStore;
use crate::store::test_support::{ended, finished, keyed, opened, setup, spent};

async fn queued(store: &Store, number: usize) -> BTreeSet<Uuid> {
    let mut ids = BTreeSet::new();
    for at in 0..number {
        let id = Uuid::new_v4();
        let request = CreateRequest::default();
        store
            .create_queued(id, &setup("Why?"), at as u64, &request)
            .await
            .unwrap();
        ids.insert(id);
    }
    ids
}

fn ids(leases: &[Lease]) -> BTreeSet<Uuid> {
    leases.iter().map(Lease::id).collect()
}

/// B-04: concurrent workers get each debate exactly once.
#[tokio::test(flavor = "multi_thread")]
async fn b04_concurrent_workers_share_the_debates() {
    let test_store = TestStore::postgres();
    let front = test_store.open().await;
    let all = queued(&front, 40).await;
    let workers = futures::future::join_all((0..4).map(|_| test_store.open())).await;
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
    // A leased debate cannot be leased again.
    let first = taken.into_iter().flatten().next().unwrap();
    let id = first.id();
    assert_eq!(front.lease(id).await.unwrap_err(), LeaseError::Held { id });
}

/// B-04: oldest first; never a debate that has ended, waits for a person, or was started on the command line.
#[tokio::test]
async fn b04_only_queued_debates_are_leased() {
    let test_store = TestStore::postgres();
    let store = test_store.open().await;
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

/// C-08, B-04: a worker that was presumed dead is fenced when it comes back, which differs from a duplicate step.
#[tokio::test]
async fn b04_an_owner_presumed_dead_is_fenced_and_notified() {
    let test_store = TestStore::postgres();
    let (zombie, next) = (test_store.open().await, test_store.open().await);
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

    // As after a long suspend: the owner has expired.
    let database = test_store.database();
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
    // Its next heartbeat fails and cancels the lease.
    tokio::time::timeout(Duration::from_secs(3), held.lost().cancelled())
        .await
        .unwrap();
    // Dropping the old lease does not release the new one.
    drop(held);
    zombie.close().await;
    assert_eq!(next.lease(id).await.unwrap_err(), LeaseError::Held { id });
}

/// B-04: an owner that cannot reach the database stops before others may take over.
#[tokio::test]
async fn b04_an_owner_that_cannot_renew_stops_before_others_take_over() {
    let test_store = TestStore::postgres();
    let store = test_store.open().await;
    queued(&store, 1).await;
    let held = store.lease_jobs(1).await.unwrap().pop().unwrap();
    let database = test_store.database();
    // Rejects new connections and ends existing ones.
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

/// B-04: notifications carry only ids and reach listeners in other processes.
#[tokio::test]
async fn b04_notifications_reach_other_processes() {
    let test_store = TestStore::postgres();
    let (here, there) = (test_store.open().await, test_store.open().await);
    let mut listener = there.listen().await.unwrap().unwrap();
    queued(&here, 1).await;
    assert_eq!(listener.next().await, Ok(Notification::Work));
    let lease = here.lease_jobs(1).await.unwrap().pop().unwrap();
    lease
        .journal()
        .append(vec![keyed(1, opened("Why?"))])
        .await
        .unwrap();
    assert_eq!(listener.next().await, Ok(Notification::Entries(lease.id())));
    assert!(
        TestStore::sqlite()
            .open()
            .await
            .listen()
            .await
            .unwrap()
            .is_none()
    );
}

/// B-04: a command reaches the owner of its debate once, and the outcome comes back.
#[tokio::test]
async fn b04_commands_reach_the_owner_of_the_debate() {
    let test_store = TestStore::postgres();
    let (front, worker, other) = (
        test_store.open().await,
        test_store.open().await,
        test_store.open().await,
    );
    let debate = *queued(&front, 1).await.first().unwrap();
    let _leases = worker.lease_jobs(1).await.unwrap();
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
    assert_eq!(
        front.command_outcome(id).await,
        Ok(Some(CommandOutcome::Heard(1)))
    );
    front.withdraw_command(id).await.unwrap();
    assert_eq!(front.command_outcome(id).await, Ok(None));
}

/// B-04: a command whose sender is gone is not executed later, and is deleted together with its outcome.
#[tokio::test]
async fn b04_an_expired_command_is_not_executed() {
    let test_store = TestStore::postgres();
    let (front, worker) = (test_store.open().await, test_store.open().await);
    let debate = *queued(&front, 1).await.first().unwrap();
    let sql = |sql: &str| test_store.database().sql(sql);
    // Its sender dies, and a worker takes the debate only afterwards.
    front.send_command(debate, &Command::Cancel).await.unwrap();
    sql("UPDATE orders SET expires_at = expires_at - 10001");
    let _leases = worker.lease_jobs(1).await.unwrap();
    assert_eq!(worker.take_commands().await.unwrap(), []);
    // Answered, but the sender has died.
    let answered = front.send_command(debate, &Command::Pause).await.unwrap();
    assert_eq!(sql("SELECT count(*) FROM orders"), "1");
    assert_eq!(worker.take_commands().await.unwrap().len(), 1);
    let outcome = CommandOutcome::Done(State::Running);
    worker.answer_command(answered, &outcome).await.unwrap();
    sql("UPDATE orders SET expires_at = expires_at - 10001");
    let last = front
        .send_command(debate, &Command::Continue)
        .await
        .unwrap();
    assert_eq!(sql("SELECT id FROM orders"), last.to_string());
}
