use std::sync::atomic::{AtomicBool, Ordering};

use roundtable_engine::event::State;
use roundtable_engine::journal::MemoryJournal;

use super::*;
use crate::render::samples;

/// Takes its time, and refuses everything from some moment on.
#[derive(Default)]
struct Slow {
    inner: MemoryJournal,
    refuses: AtomicBool,
}

impl Journal for Slow {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        async move {
            tokio::task::yield_now().await;
            if self.refuses.load(Ordering::Relaxed) {
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

/// What is read while the end is being written is what is read from the journal afterwards.
#[tokio::test]
async fn what_is_read_ahead_is_what_is_there() {
    let all = samples::journal(State::Complete);
    let id = Uuid::nil();
    let expected = Reading::from(id, 7, all.clone()).unwrap();
    let journal = Arc::<Slow>::default();
    let remembering = RecordingJournal::new(id, 7, journal.clone());
    let (past, last) = all.split_at(all.len() - 2);
    remembering.append(keyed(past)).await.unwrap();
    assert!(remembering.memory().reading.is_none(), "it goes on");

    remembering.append(keyed(last)).await.unwrap();
    assert!(remembering.memory().reading.is_some());
    let reading = remembering.take().unwrap();
    assert_eq!(reading.transcript, expected.transcript);
    assert_eq!(reading.report, expected.report);
    assert_eq!(reading.record(), expected.record());
}

/// What could not be written was not read, and what came after an end counts.
#[tokio::test]
async fn what_was_read_ahead_can_be_void() {
    let mut all = samples::journal(State::Complete);
    let id = Uuid::nil();
    let journal = Arc::<Slow>::default();
    let remembering = RecordingJournal::new(id, 7, journal.clone());
    let (past, last) = all.split_at(all.len() - 1);
    remembering.append(keyed(past)).await.unwrap();
    journal.refuses.store(true, Ordering::Relaxed);
    remembering.append(keyed(last)).await.unwrap_err();
    assert!(remembering.memory().reading.is_none());

    journal.refuses.store(false, Ordering::Relaxed);
    remembering.append(keyed(last)).await.unwrap();
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
    remembering.append(keyed(&[rated])).await.unwrap();
    let reading = remembering.take().unwrap();
    assert_eq!(reading.transcript.rating.map(|it| it.rating), Some(4));
}
