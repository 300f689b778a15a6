use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures::future::join_all;
use roundtable_engine::event::State;
use roundtable_engine::journal::JournalError;
use uuid::Uuid;

use crate::store::location::Location;
use crate::store::ownership::OwnerLease;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::{
    dropped_after, ended, entries, finished, keyed, opened, setup, spent,
};
use crate::store::{Address, LeaseError, Rating, Store, StoreError};

/// C-08: only one process owns a debate, and a former owner cannot write.
async fn c08_a_debate_has_one_owner_and_a_former_one_is_fenced(test_store: TestStore) {
    let here = test_store.open().await;
    let there = test_store.open().await;
    let id = Uuid::new_v4();
    let first = here.create(id, &setup("Why?"), 5).await.unwrap();
    let old = first.journal();
    old.append(vec![keyed(1, opened("Why?"))]).await.unwrap();

    let held = LeaseError::Held { id };
    assert_eq!(there.lease(id).await.unwrap_err(), held);
    assert_eq!(here.lease(id).await.unwrap_err(), held);
    assert_eq!(there.delete(id).await, Err(held.clone()));
    assert_eq!(
        there.rate(id, Rating::new(3).unwrap(), None, 7).await,
        Err(held)
    );

    drop(first);
    let second = there.lease(id).await.unwrap();
    let step = keyed(2, finished("r1/a", spent(None)));
    assert_eq!(
        old.append(vec![step.clone()]).await,
        Err(JournalError::Fenced)
    );
    second.journal().append(vec![step.clone()]).await.unwrap();
    // A duplicate step under an old epoch is reported as fenced.
    assert_eq!(
        old.append(vec![step.clone()]).await,
        Err(JournalError::Fenced)
    );
    assert_eq!(
        old.load().await,
        Ok(entries(&[keyed(1, opened("Why?")), step]))
    );
}

async fn an_unknown_debate_cannot_be_leased_nor_an_existing_one_created(test_store: TestStore) {
    let store = test_store.open().await;
    let id = Uuid::new_v4();
    assert_eq!(
        store.lease(id).await.unwrap_err(),
        LeaseError::NotFound { id }
    );
    let lease = store.create(id, &setup("Why?"), 5).await.unwrap();
    let exists = StoreError::Exists { id };
    assert_eq!(
        store.create(id, &setup("Why?"), 6).await.unwrap_err(),
        exists
    );
    drop(lease);
    assert_eq!(
        store.create(id, &setup("Why?"), 6).await.unwrap_err(),
        exists
    );
}

/// C-08: eight stores open a folder that does not exist yet and write at the same time.
async fn c08_eight_concurrent_stores_lose_nothing(test_store: TestStore) {
    let address = match test_store.address() {
        Address::Folder(folder) => Address::Folder(folder.join("not/there/yet")),
        server @ Address::Server(_) => server,
    };
    let debate = |number: usize| {
        let address = &address;
        async move {
            let store = Store::at(address).await.unwrap();
            let lease = store
                .create(Uuid::new_v4(), &setup("Why?"), 5)
                .await
                .unwrap();
            let mut all = vec![keyed(1, opened("Why?"))];
            all.extend(
                (2..=25).map(|seq| keyed(seq, finished(&format!("r{seq}/{number}"), spent(None)))),
            );
            for entry in &all {
                lease.journal().append(vec![entry.clone()]).await.unwrap();
            }
            (lease.id(), entries(&all))
        }
    };
    let written = join_all((0..8).map(debate)).await;
    let store = Store::at(&address).await.unwrap();
    for (id, expected) in written {
        assert_eq!(store.entries(id).await, Ok(expected));
    }
}

/// C-08: a process is killed while it holds a debate; another takes over and finds every entry.
async fn c08_the_debate_of_a_killed_process_can_be_leased(test_store: TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let name = module_path!().split_once("::").unwrap().1;
    let address = match &test_store {
        TestStore::Sqlite(_) => test_store.address().to_string(),
        TestStore::Postgres(database) => database.url().to_owned(),
    };
    std::fs::write(folder.path().join(PERMIT), address).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            &format!("{name}::child_that_is_killed"),
        ])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = loop {
        if let Ok(id) = std::fs::read_to_string(folder.path().join(WRITTEN)) {
            break id.parse().unwrap();
        }
        assert_eq!(child.try_wait().unwrap(), None, "the child died early");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let store = test_store.open().await;
    assert_eq!(store.lease(id).await.unwrap_err(), LeaseError::Held { id });

    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    // A lock file is released at once; on a server the lease has to expire.
    let lease = loop {
        match store.lease(id).await {
            Ok(lease) => break lease,
            Err(error) => assert_eq!(
                (error, test_store.is_postgres()),
                (LeaseError::Held { id }, true)
            ),
        }
    };
    assert!(killed.elapsed() < Duration::from_secs(10));
    assert_eq!(
        lease.journal().load().await,
        Ok(entries(&entries_of_the_child()))
    );
    lease
        .journal()
        .append(vec![keyed(3, ended(State::Complete))])
        .await
        .unwrap();
}

/// The child runs only in a folder with this file.
const PERMIT: &str = "child-may-run-here";
const WRITTEN: &str = "child-has-written";

fn entries_of_the_child() -> Vec<roundtable_engine::journal::Keyed> {
    vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(None))),
    ]
}

#[tokio::test]
#[ignore = "runs only as a child of the test above"]
async fn child_that_is_killed() {
    let Ok(address) = std::fs::read_to_string(PERMIT) else {
        return;
    };
    let store = Store::at(&Address::parse(&address)).await.unwrap();
    let lease = store
        .create(Uuid::new_v4(), &setup("Why?"), 5)
        .await
        .unwrap();
    lease
        .journal()
        .append(entries_of_the_child())
        .await
        .unwrap();
    // Renamed, so that the parent never reads half an id.
    std::fs::write("id", lease.id().to_string()).unwrap();
    std::fs::rename("id", WRITTEN).unwrap();
    std::future::pending::<()>().await;
}

/// C-08: an operation that is dropped anywhere, because its client disconnected, does not keep the debate.
async fn c08_a_dropped_lease_is_released(test_store: TestStore) {
    let here = test_store.open().await;
    let there = test_store.open().await;
    let id = Uuid::new_v4();
    drop(here.create(id, &setup("Why?"), 5).await.unwrap());
    let rating = Rating::new(7).unwrap();
    for polls in 1..40 {
        let leased = dropped_after(polls, here.lease(id)).await;
        let is_complete = leased.is_some();
        drop(leased);
        let rated = dropped_after(polls, here.rate(id, rating, None, 7)).await;
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = there.lease(id).await {
            assert!(Instant::now() < deadline, "after {polls} polls: {error}");
        }
        if is_complete && rated.is_some() {
            return;
        }
    }
}

/// C-08: a release that arrives late, after the same process has leased the debate again, does not release it.
#[tokio::test]
async fn c08_a_late_release_does_not_end_a_new_lease() {
    let test_store = TestStore::postgres();
    let store = test_store.open().await;
    let id = Uuid::new_v4();
    drop(store.create(id, &setup("Why?"), 5).await.unwrap());
    let lease = store.lease(id).await.unwrap();
    let Location::Server(server) = &*store.location else {
        panic!("not a server")
    };
    let old = OwnerLease::attempt(id, server.ownership.owner().await.unwrap());
    old.confirm(1);
    drop(old);
    let other = test_store.open().await;
    // Longer than a heartbeat.
    let deadline = Instant::now() + Duration::from_secs(3);
    while Instant::now() < deadline {
        assert_eq!(other.lease(id).await.unwrap_err(), LeaseError::Held { id });
    }
    drop(lease);
    other.lease(id).await.unwrap();
}

on_both!(
    c08_a_dropped_lease_is_released,
    c08_a_debate_has_one_owner_and_a_former_one_is_fenced,
    an_unknown_debate_cannot_be_leased_nor_an_existing_one_created,
    c08_eight_concurrent_stores_lose_nothing,
    c08_the_debate_of_a_killed_process_can_be_leased
);
