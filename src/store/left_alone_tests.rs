use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::advance;

use super::super::queue::FinishedJobs;
use super::*;

fn held(finished: &FinishedJobs, left: &LeftAlone, id: Uuid) -> bool {
    left.hold(Job::for_test(id, finished));
    lock(finished).is_empty()
}

/// B-04: the job of a debate of another version is offered again after five seconds, so that two versions do not spin; a job of
/// any other debate is finished at once.
#[tokio::test(start_paused = true)]
async fn b04_jobs_of_debates_of_other_versions_are_held_for_five_seconds() {
    let (left, finished, id) = (
        LeftAlone::default(),
        FinishedJobs::default(),
        Uuid::new_v4(),
    );
    left.hold(Job::for_test(id, &finished));
    assert_eq!(std::mem::take(&mut *lock(&finished)).len(), 1, "not held");

    left.add(id, LeaveAlone::UnlessResumed);
    for _ in 0..2 {
        assert!(held(&finished, &left, id));
        advance(Duration::from_millis(4_999)).await;
        left.release_due();
        assert!(lock(&finished).is_empty(), "too early");
        advance(Duration::from_millis(1)).await;
        left.release_due();
        let expected = BTreeSet::from([id.to_string()]);
        assert_eq!(std::mem::take(&mut *lock(&finished)), expected);
    }

    // Once the debate is taken after all, it is like any other.
    assert!(held(&finished, &left, id));
    left.remove(id);
    assert_eq!(lock(&finished).len(), 1);
    assert_eq!((left.get(id), Arc::strong_count(&finished)), (None, 1));
}
