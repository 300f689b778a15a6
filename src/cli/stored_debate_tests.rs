use std::sync::atomic::{AtomicBool, Ordering};

use roundtable_engine::event::State;
use roundtable_engine::journal::MemoryJournal;

use super::*;
use crate::render::test_support;

/// Writes asynchronously, and fails once `fails` is set.
#[derive(Default)]
struct SlowJournal {
    inner: MemoryJournal,
    fails: AtomicBool,
}

impl Journal for SlowJournal {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        async move {
            tokio::task::yield_now().await;
            if self.fails.load(Ordering::Relaxed) {
                let detail = "full".into();
                return Err(JournalError::Full { detail });
            }
            self.inner.append(entries).await
        }
        .boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.inner.load()
    }
}

fn keyed(entries: &[Entry]) -> Vec<Keyed> {
    let keyed = |entry: &Entry| Keyed {
        key: entry.seq.to_string(),
        entry: entry.clone(),
    };
    entries.iter().map(keyed).collect()
}

/// The debate built during the last write equals the one read from the journal.
#[tokio::test]
async fn a_debate_built_ahead_equals_the_stored_one() {
    let all = test_support::journal(State::Complete);
    let id = Uuid::nil();
    let expected = StoredDebate::from_entries(id, 7, all.clone()).unwrap();
    let journal = Arc::<SlowJournal>::default();
    let recording = RecordingJournal::new(id, 7, journal.clone());
    let (past, last) = all.split_at(all.len() - 2);
    recording.append(keyed(past)).await.unwrap();
    assert!(recording.copy().finished.is_none(), "not finished yet");

    recording.append(keyed(last)).await.unwrap();
    assert!(recording.copy().finished.is_some());
    let stored = recording.take().unwrap();
    assert_eq!(stored.transcript, expected.transcript);
    assert_eq!(stored.report, expected.report);
    assert_eq!(stored.record(), expected.record());
}

/// A failed write discards the debate built ahead; so does an entry after the end.
#[tokio::test]
async fn a_debate_built_ahead_is_discarded_if_the_journal_differs() {
    let mut all = test_support::journal(State::Complete);
    let id = Uuid::nil();
    let journal = Arc::<SlowJournal>::default();
    let recording = RecordingJournal::new(id, 7, journal.clone());
    let (past, last) = all.split_at(all.len() - 1);
    recording.append(keyed(past)).await.unwrap();
    journal.fails.store(true, Ordering::Relaxed);
    recording.append(keyed(last)).await.unwrap_err();
    assert!(recording.copy().finished.is_none());

    journal.fails.store(false, Ordering::Relaxed);
    recording.append(keyed(last)).await.unwrap();
    let rated = Entry {
        seq: all.len() as u64 + 1,
        at: 9,
        event: Event::Rated {
            number: 1,
            rating: 4,
            comment: None,
        },
    };
    all.push(rated.clone());
    recording.append(keyed(&[rated])).await.unwrap();
    let stored = recording.take().unwrap();
    assert_eq!(stored.transcript.rating.map(|rated| rated.rating), Some(4));
}
