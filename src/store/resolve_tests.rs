use roundtable_engine::event::Event;
use uuid::Uuid;

use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::setup;

const ID: &str = "aaaa0000-0000-4000-8000-000000000001";

fn resolution(outcome: Option<&str>) -> Resolution {
    Resolution {
        outcome: outcome.map(str::to_owned),
        by: Some("Ada".into()),
        value: None,
    }
}

/// F-17: every resolution is in the journal with its number.
async fn f17_a_resolution_is_kept_and_can_be_corrected(test_store: TestStore) {
    let store = test_store.open().await;
    let id: Uuid = ID.parse().unwrap();
    drop(
        store
            .create(id, &setup("Will it rain?"), 1_000)
            .await
            .unwrap(),
    );
    assert_eq!(store.resolved_debates(None).await.unwrap(), []);
    for outcome in [Some("yes"), Some("no"), None] {
        store.resolve(id, resolution(outcome), 2_000).await.unwrap();
    }
    let entries = store.entries(id).await.unwrap();
    let resolutions: Vec<_> = entries
        .iter()
        .filter_map(|entry| {
            let Event::Resolved {
                number, outcome, ..
            } = &entry.event
            else {
                return None;
            };
            Some((*number, outcome.as_deref()))
        })
        .collect();
    assert_eq!(resolutions, [(1, Some("yes")), (2, Some("no")), (3, None)]);
    assert_eq!(store.resolved_debates(None).await.unwrap(), [(id, 3)]);
}

async fn a_resolution_of_an_unknown_debate_is_rejected(test_store: TestStore) {
    let store = test_store.open().await;
    let id: Uuid = ID.parse().unwrap();
    let refused = store
        .resolve(id, resolution(Some("yes")), 1)
        .await
        .unwrap_err();
    assert!(matches!(refused, LeaseError::NotFound { .. }), "{refused}");
}

on_both!(
    f17_a_resolution_is_kept_and_can_be_corrected,
    a_resolution_of_an_unknown_debate_is_rejected
);
