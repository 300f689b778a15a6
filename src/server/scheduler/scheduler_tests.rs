use futures::future::join;

use super::test_support::TestScheduler;

use super::*;
use crate::store::test_support::dropped_after;

/// More polls than any operation needs.
const MAX_POLLS: usize = 30;

fn request(number: usize) -> CreateRequest {
    CreateRequest {
        key: Some(format!("key-{number}")),
        fingerprint: "same".into(),
        ..CreateRequest::default()
    }
}

/// C-08: a request to create a debate that is dropped anywhere leaves a debate that runs to its end, or none. Nothing takes up
/// abandoned debates here.
#[tokio::test]
async fn c08_a_dropped_creation_leaves_no_debate_behind() {
    let test = TestScheduler::open(2).await;
    for polls in 1..MAX_POLLS {
        let slot = test.scheduler.reserve().unwrap();
        let prepared = test.prepared().await;
        let sent = request(polls);
        let creating = Box::pin(test.scheduler.create(slot, prepared, &sent));
        dropped_after(polls, creating).await;
        test.until_idle().await;
        let before: Option<Created> = test.scheduler.store.find_created(&sent).await.unwrap();
        let slot = test.scheduler.reserve().unwrap();
        let again = test.scheduler.create(slot, test.prepared().await, &sent);
        let again = again.await.unwrap();
        if let Some(Created::Existing(id)) = before {
            assert!(matches!(again, Created::Existing(same) if same == id));
        }
        test.until_idle().await;
    }
    assert_eq!(
        test.scheduler.store.ids().await.unwrap().len(),
        MAX_POLLS - 1
    );
}

/// C-08: the same for a decision and for a resume.
#[tokio::test]
async fn c08_a_dropped_decision_or_resume_leaves_no_debate_behind() {
    let test = TestScheduler::open(2).await;
    for polls in 1..MAX_POLLS {
        let id = test.stopped_debate().await;
        let decided = test.scheduler.decide(id, "continue".into(), None, None);
        dropped_after(polls, decided).await;
        test.until_idle().await;
        let state = test.scheduler.debate_state(id).await.unwrap();
        if state == State::Waiting {
            continue;
        }
        assert_eq!(state, State::Failed);
        dropped_after(polls, test.scheduler.resume(id, Continuation::default())).await;
        test.until_idle().await;
    }
}

/// C-08: two concurrent decisions or resumes start one run. The loser gets a conflict or the same answer.
#[tokio::test]
async fn c08_concurrent_commands_start_one_run() {
    // Nothing runs, so that jobs stay in the queue.
    let test = TestScheduler::open(0).await;
    let scheduler = &test.scheduler;
    let id = test.stopped_debate().await;
    let decide = || scheduler.decide(id, "continue".into(), None, None);
    let (first, second) = join(decide(), decide()).await;
    let lost = [&first, &second].into_iter().filter(|one| one.is_err());
    let lost: Vec<_> = lost.map(|one| format!("{one:?}")).collect();
    assert_eq!(lost.len(), 1, "{first:?} {second:?}");
    assert!(lost[0].contains("WrongState"), "{lost:?}");
    assert_eq!(scheduler.load(), (0, 1));

    assert_eq!(scheduler.cancel(id).await.unwrap(), State::Cancelled);
    let resume = || scheduler.resume(id, Continuation::default());
    let (first, second) = join(resume(), resume()).await;
    assert_eq!(
        (first.unwrap(), second.unwrap()),
        (State::Queued, State::Queued)
    );
    assert_eq!(scheduler.load(), (0, 1));

    let cancel = || scheduler.cancel(id);
    let (first, second) = join(cancel(), cancel()).await;
    assert!(first.is_ok() || second.is_ok(), "{first:?} {second:?}");
    assert_eq!(scheduler.load(), (0, 0));
}

/// C-08: a job of a debate that is already here is refused.
#[tokio::test]
async fn c08_a_second_job_for_a_debate_is_refused() {
    let test = TestScheduler::open(0).await;
    let id = test.stopped_debate().await;
    test.scheduler.submit_stored(id);
    test.scheduler.submit_stored(id);
    assert_eq!(test.scheduler.load(), (0, 1));
    assert_eq!(test.scheduler.lock().reserved_to_queue, 0);
}

/// C-08: a debate that another process holds when its job starts is taken up once it is released.
#[tokio::test]
async fn c08_a_job_whose_debate_is_held_is_put_off() {
    let test = TestScheduler::open(1).await;
    let scheduler = &test.scheduler;
    let id = test.stopped_debate().await;
    let lease = scheduler.store.lease_for_server(id).await.unwrap();
    scheduler.store.requeue(id, None).await.unwrap();
    scheduler.submit_stored(id);
    while scheduler.has(id) {
        tokio::task::yield_now().await;
    }
    assert_eq!(scheduler.debate_state(id).await.unwrap(), State::Queued);
    scheduler.recover_abandoned();
    drop(lease);
    test.until_idle().await;
}

/// C-08: a debate that a server left behind in any way is taken up again; one that another process holds is not.
#[tokio::test]
async fn c08_an_abandoned_debate_is_recovered() {
    let test = TestScheduler::open(1).await;
    let scheduler = &test.scheduler;
    let (abandoned, held) = (test.stopped_debate().await, test.stopped_debate().await);
    scheduler.recover_abandoned();
    let other = test.other_process().await;
    let lease = other.lease_for_server(held).await.unwrap();
    for id in [abandoned, held] {
        scheduler.store.requeue(id, None).await.unwrap();
    }
    let ended = |state| matches!(state, State::Failed);
    while !ended(scheduler.debate_state(abandoned).await.unwrap()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(scheduler.debate_state(held).await.unwrap(), State::Queued);
    drop(lease);
    test.until_idle().await;
}

/// C-08: a debate that has stopped by the time its job starts is left as it is.
#[tokio::test]
async fn c08_a_job_leaves_a_stopped_debate_alone() {
    let test = TestScheduler::open(1).await;
    let scheduler = &test.scheduler;
    for state in [State::Waiting, State::Cancelled] {
        let id = test.stopped_debate().await;
        if state == State::Cancelled {
            scheduler.cancel(id).await.unwrap();
        }
        let before = scheduler.store.entries(id).await.unwrap();
        scheduler.submit_stored(id);
        test.until_idle().await;
        assert_eq!(scheduler.store.entries(id).await.unwrap(), before);
        assert_eq!(scheduler.debate_state(id).await.unwrap(), state);
    }
}
