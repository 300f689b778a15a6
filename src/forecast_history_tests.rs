use std::path::Path;
use std::sync::atomic::Ordering;

use super::*;
use crate::store::Resolution;

/// A copy of a store with resolved forecasts.
async fn stored() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stores/f7c6943");
    let database = "roundtable.db";
    std::fs::copy(fixture.join(database), folder.path().join(database)).unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    (folder, store)
}

/// From all journals, without anything kept.
async fn scored_from_journals(store: &Store, now: Millis) -> Vec<Scored> {
    let mut all = Vec::new();
    for (id, _) in store.resolved_debates(None).await.unwrap() {
        let entries = store.entries(id).await.unwrap();
        all.extend(scored(&id.to_string(), &entries, now));
    }
    all
}

/// F-17: the kept scores are those of the journals, also after another resolution and before the resolution date.
#[tokio::test]
async fn f17_kept_scores_equal_those_of_the_journals() {
    let (_folder, store) = stored().await;
    let history = ForecastHistory::default();
    let later = 4_000_000_000_000;
    let scored = history.scored(&store, None, later).await.unwrap();
    assert!(!scored.is_empty());
    assert_eq!(scored, scored_from_journals(&store, later).await);
    for now in [0, 1, later] {
        let again = history.scored(&store, None, now).await.unwrap();
        assert_eq!(again, scored_from_journals(&store, now).await, "at {now}");
    }
    let id: Uuid = scored[0].debate_id.parse().unwrap();
    for outcome in [Some("no"), Some("yes"), None] {
        let outcome = outcome.map(str::to_owned);
        let resolution = Resolution {
            outcome,
            by: None,
            value: None,
        };
        store.resolve(id, resolution, later).await.unwrap();
        let again = history.scored(&store, None, later).await.unwrap();
        assert_eq!(again, scored_from_journals(&store, later).await);
    }
}

/// F-17: a journal that has not grown is read once.
#[tokio::test]
async fn f17_an_unchanged_journal_is_read_once() {
    let (_folder, store) = stored().await;
    let history = ForecastHistory::default();
    let reads = async || {
        let before = store.reads.load(Ordering::Relaxed);
        history
            .scored(&store, None, 4_000_000_000_000)
            .await
            .unwrap();
        store.reads.load(Ordering::Relaxed) - before
    };
    let first = reads().await;
    assert!(first > 1);
    assert_eq!(reads().await, 1);
}
