//! Appends of many debates, gathered into one transaction: what makes an append slow is waiting for the disk, and one wait
//! serves all who append meanwhile.
//!
//! There is no task for it. Whoever comes to the writer first writes for all who wait behind it; they find theirs done.

use std::sync::{Arc, Mutex, PoisonError};

use roundtable_engine::journal::Keyed;
use sqlx::AnyConnection;
use tokio::sync::{MutexGuard, oneshot};
use uuid::Uuid;

use super::errors::Failure;
use super::journal::{Refusal, transaction, write};
use super::tally::Tally;
use super::writer::Writer;

/// Entries of one debate that are appended all or not at all, under the epoch of its claim.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) id: Uuid,
    pub(super) epoch: i64,
    pub(super) entries: Vec<Keyed>,
}

impl Batch {
    /// What it changes in its debate's row.
    pub(super) fn tally(&self) -> Tally {
        Tally::of(self.entries.iter().map(|keyed| &keyed.entry))
    }
}

#[derive(Debug, Default)]
pub(super) struct Gathering {
    waiting: Mutex<Vec<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    batch: Arc<Batch>,
    tell: oneshot::Sender<Result<(), Refusal>>,
}

impl Gathering {
    pub(super) async fn append(&self, writer: &Writer, batch: Batch) -> Result<(), Refusal> {
        let batch = Arc::new(batch);
        let mut told = self.wait_with(&batch);
        let place = writer.turn().await;
        match told.try_recv() {
            Ok(done) => return done,
            Err(oneshot::error::TryRecvError::Empty) => {}
            // Who wrote for us went away in the middle, and nothing of it was kept.
            Err(oneshot::error::TryRecvError::Closed) => told = self.wait_with(&batch),
        }
        let all = std::mem::take(&mut *self.lock());
        if let [waiting] = all.as_slice()
            && Arc::ptr_eq(&waiting.batch, &batch)
        {
            return alone(writer, place, &batch).await;
        }
        match writer.begin_at(place).await {
            Ok(mut writing) => {
                let written = write_all(writing.connection(), &all).await;
                let ended = writing.end(written).await;
                self.finish(writer, all, ended).await;
            }
            Err(failure) => {
                for waiting in all {
                    let _ = waiting.tell.send(Err(Refusal::Failed(failure.clone())));
                }
            }
        }
        told.await.unwrap_or_else(|_| Err(lost()))
    }

    fn wait_with(&self, batch: &Arc<Batch>) -> oneshot::Receiver<Result<(), Refusal>> {
        let (tell, told) = oneshot::channel();
        let batch = Arc::clone(batch);
        self.lock().push(Waiting { batch, tell });
        told
    }

    /// Tells each how it went. Where one broke the transaction of all, each gets its own.
    async fn finish(
        &self,
        writer: &Writer,
        all: Vec<Waiting>,
        ended: Result<Vec<Result<(), Refusal>>, Refusal>,
    ) {
        match ended {
            Ok(outcomes) => {
                for (waiting, outcome) in all.into_iter().zip(outcomes) {
                    // Who no longer waits does not want to know.
                    let _ = waiting.tell.send(outcome);
                }
            }
            Err(refusal) if all.len() == 1 => {
                for waiting in all {
                    let _ = waiting.tell.send(Err(refusal.clone()));
                }
            }
            Err(_) => {
                for waiting in all {
                    let outcome = alone(writer, writer.turn().await, &waiting.batch).await;
                    let _ = waiting.tell.send(outcome);
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn alone(
    writer: &Writer,
    place: MutexGuard<'_, Option<AnyConnection>>,
    batch: &Batch,
) -> Result<(), Refusal> {
    let rows = writer.at_once(place, transaction(batch)?).await?;
    if rows.is_empty() {
        return Err(Refusal::Fenced);
    }
    Ok(())
}

/// One that is fenced has written nothing and troubles nobody; any other refusal breaks the transaction.
async fn write_all(
    connection: &mut AnyConnection,
    all: &[Waiting],
) -> Result<Vec<Result<(), Refusal>>, Refusal> {
    let mut outcomes = Vec::with_capacity(all.len());
    for waiting in all {
        match write(connection, &waiting.batch).await {
            Ok(()) => outcomes.push(Ok(())),
            Err(Refusal::Fenced) => outcomes.push(Err(Refusal::Fenced)),
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(outcomes)
}

fn lost() -> Refusal {
    Refusal::Failed(Failure::lost())
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
