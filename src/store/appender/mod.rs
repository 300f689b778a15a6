//! Group commit: one task writes for all debates of this process and puts all appends that arrived during the previous write
//! into one statement. An append mostly waits for the disk, and one flush serves all of them.
//!
//! The statement is its own transaction: one round trip. It runs in a task because a caller may be dropped at any time, while
//! the write for the other callers must complete.

mod file;
mod server;

use std::collections::HashSet;
use std::sync::Arc;

use roundtable_engine::journal::Keyed;
use sqlx::any::AnyConnectOptions;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::chain::ChainHead;
use super::errors::{Failure, Fault};
use super::journal::StoredEntry;
use super::row_delta::RowDelta;
use super::writer::Writer;
use super::{CLOSE_TIMEOUT, lock};

pub(super) use file::prepare;

/// The number of batches in one statement.
const MAX_BATCHES: usize = 256;
/// The number of entries in one statement. Each has 22 parameters, and `SQLite` allows 32,766.
const MAX_ENTRIES: usize = 1_000;

/// Entries of one debate, appended atomically under the epoch of its lease.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) id: Uuid,
    pub(super) epoch: i64,
    pub(super) entries: Vec<Keyed>,
    pub(super) chain: Arc<ChainHead>,
}

/// A batch as it is stored.
struct StoredBatch<'a> {
    batch: &'a Batch,
    /// The batch's id as text.
    id: String,
    entries: Vec<StoredEntry>,
    /// The last checksum after this batch.
    last: String,
}

impl Batch {
    fn row_delta(&self) -> RowDelta {
        RowDelta::of(self.entries.iter().map(|keyed| &keyed.entry))
    }

    /// Chains the checksums to the last one that was written. The appender's task writes one batch of a debate at a time, so
    /// the order of the checksums is the order of the writes.
    fn stored(&self) -> Result<StoredBatch<'_>, Failure> {
        let id = self.id.to_string();
        let mut last = self.chain.last()?;
        let mut entries = Vec::with_capacity(self.entries.len());
        for keyed in &self.entries {
            let entry = StoredEntry::new(&id, keyed, &last)?;
            last.clone_from(&entry.checksum);
            entries.push(entry);
        }
        Ok(StoredBatch {
            batch: self,
            id,
            entries,
            last,
        })
    }
}

/// Why a batch was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Fenced,
    /// A key or number is already in the journal.
    Duplicate,
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        if failure.fault == Fault::Duplicate {
            Self::Duplicate
        } else {
            Self::Failed(failure)
        }
    }
}

#[derive(Debug)]
pub(super) struct Appender {
    sender: std::sync::Mutex<Option<mpsc::UnboundedSender<PendingAppend>>>,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct PendingAppend {
    batch: Batch,
    reply: oneshot::Sender<Result<(), Refusal>>,
}

impl Appender {
    /// Shares the connection of the file's only writer.
    pub(super) fn to_file(writer: Arc<Writer>) -> Self {
        Self::start(Target::File(writer))
    }

    /// Uses its own connection.
    pub(super) fn to_server(options: AnyConnectOptions) -> Self {
        Self::start(Target::Server(server::Connection::new(options)))
    }

    fn start(target: Target) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let tasks = TaskTracker::new();
        tasks.spawn(target.run(receiver));
        Self {
            sender: std::sync::Mutex::new(Some(sender)),
            tasks,
        }
    }

    pub(super) async fn append(&self, batch: Batch) -> Result<(), Refusal> {
        let (reply, outcome) = oneshot::channel();
        let sent = lock(&self.sender)
            .as_ref()
            .is_some_and(|sender| sender.send(PendingAppend { batch, reply }).is_ok());
        if !sent {
            return Err(Refusal::Failed(Failure::abandoned()));
        }
        outcome
            .await
            .unwrap_or_else(|_| Err(Refusal::Failed(Failure::abandoned())))
    }

    /// Waits until all pending appends are written.
    pub(super) async fn close(&self) {
        lock(&self.sender).take();
        self.tasks.close();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.tasks.wait()).await;
    }
}

enum Target {
    File(Arc<Writer>),
    Server(server::Connection),
}

/// How a statement failed.
enum WriteError {
    /// The database rejected it because of one of its batches. Nothing was written.
    Refused(Refusal),
    /// The database is unavailable. If the connection to a server broke, the batches may have been written; the next lease
    /// reads the journal.
    Failed(Failure),
}

impl Target {
    async fn run(mut self, mut receiver: mpsc::UnboundedReceiver<PendingAppend>) {
        let mut pending = Vec::new();
        while receiver.recv_many(&mut pending, MAX_BATCHES).await > 0 {
            let mut rest = std::mem::take(&mut pending);
            while !rest.is_empty() {
                let (now, later) = split_for_statement(rest);
                self.write_all(now).await;
                rest = later;
            }
        }
    }

    /// Writes all batches and replies to each. If one makes the statement fail, each is retried in its own statement.
    async fn write_all(&mut self, all: Vec<PendingAppend>) {
        let batches: Vec<&Batch> = all.iter().map(|append| &append.batch).collect();
        let outcome = match self.write(&batches).await {
            Ok(FencedDebates(fenced)) => {
                for append in all {
                    let outcome = if fenced.contains(&append.batch.id) {
                        Err(Refusal::Fenced)
                    } else {
                        Ok(())
                    };
                    append.respond(outcome);
                }
                return;
            }
            Err(WriteError::Refused(_)) if all.len() > 1 => {
                for append in all {
                    Box::pin(self.write_all(vec![append])).await;
                }
                return;
            }
            Err(WriteError::Refused(refusal)) => refusal,
            Err(WriteError::Failed(failure)) => Refusal::Failed(failure),
        };
        for append in all {
            append.respond(Err(outcome.clone()));
        }
    }

    async fn write(&mut self, batches: &[&Batch]) -> Result<FencedDebates, WriteError> {
        let stored: Result<Vec<_>, _> = batches.iter().map(|batch| batch.stored()).collect();
        let stored = stored.map_err(|failure| WriteError::Refused(failure.into()))?;
        let written = match self {
            Self::File(writer) => file::write(writer, &stored).await,
            Self::Server(connection) => connection.write(&stored).await,
        };
        for StoredBatch { batch, last, .. } in stored {
            match &written {
                Ok(FencedDebates(fenced)) if fenced.contains(&batch.id) => {}
                Ok(_) => batch.chain.set(last),
                Err(WriteError::Refused(_)) => {}
                Err(WriteError::Failed(_)) => batch.chain.forget(),
            }
        }
        written
    }
}

/// Debates whose epoch has changed. Nothing was written to them.
struct FencedDebates(HashSet<Uuid>);

impl PendingAppend {
    fn respond(self, outcome: Result<(), Refusal>) {
        // Fails if the caller was dropped.
        let _ = self.reply.send(outcome);
    }
}

/// Splits off the first batch of each debate, because one statement can update a row only once, up to [`MAX_ENTRIES`].
fn split_for_statement(all: Vec<PendingAppend>) -> (Vec<PendingAppend>, Vec<PendingAppend>) {
    let mut seen = HashSet::new();
    let mut entries = 0;
    all.into_iter().partition(|append| {
        entries += append.batch.entries.len();
        let is_first = seen.insert(append.batch.id);
        is_first && (entries <= MAX_ENTRIES || seen.len() == 1)
    })
}

#[cfg(test)]
#[path = "appender_tests.rs"]
mod tests;
