//! Appends: one task writes for all debates of this process, as many appends in one statement as have come in while the one
//! before was on its way. What makes an append slow is waiting for the disk, and one wait serves all.
//!
//! The statement is a transaction of its own: one message there, one back. A task, because whoever waits may go away at any
//! time, and what it has begun for others must be brought to its end.

mod file;
mod server;

use std::collections::HashSet;
use std::sync::Arc;

use roundtable_engine::journal::Keyed;
use sqlx::any::AnyConnectOptions;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::errors::{Failure, Fault};
use super::folder::PATIENCE;
use super::row_delta::Tally;
use super::writer::Writer;

pub(super) use file::prepare;

/// How many appends go into one statement at most.
const MOST: usize = 256;
/// How many entries. Each has twenty values, and `SQLite` takes 32,766 of them.
const MOST_ENTRIES: usize = 1_000;

/// Entries of one debate that are appended all or not at all, under the epoch of its lease.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) id: Uuid,
    pub(super) epoch: i64,
    pub(super) entries: Vec<Keyed>,
}

impl Batch {
    /// What it changes in its debate's row.
    fn tally(&self) -> Tally {
        Tally::of(self.entries.iter().map(|keyed| &keyed.entry))
    }
}

/// Why nothing of a batch was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Fenced,
    /// A key or a number of it is in the journal already.
    Taken,
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        if failure.fault == Fault::Taken {
            Self::Taken
        } else {
            Self::Failed(failure)
        }
    }
}

#[derive(Debug)]
pub(super) struct Appender {
    sender: std::sync::Mutex<Option<mpsc::UnboundedSender<Waiting>>>,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Waiting {
    batch: Batch,
    tell: oneshot::Sender<Result<(), Refusal>>,
}

impl Appender {
    /// Writes in turn with everything else that this process writes to the file.
    pub(super) fn to_file(writer: Arc<Writer>) -> Self {
        Self::start(Target::File(writer))
    }

    /// Writes over a connection of its own.
    pub(super) fn to_server(options: AnyConnectOptions) -> Self {
        Self::start(Target::Server(server::Connection::new(options)))
    }

    fn start(target: Target) -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        let tasks = TaskTracker::new();
        tasks.spawn(target.run(heard));
        Self {
            sender: std::sync::Mutex::new(Some(sender)),
            tasks,
        }
    }

    pub(super) async fn append(&self, batch: Batch) -> Result<(), Refusal> {
        let (tell, told) = oneshot::channel();
        let sent = self
            .lock()
            .as_ref()
            .is_some_and(|sender| sender.send(Waiting { batch, tell }).is_ok());
        if !sent {
            return Err(Refusal::Failed(Failure::lost()));
        }
        told.await
            .unwrap_or_else(|_| Err(Refusal::Failed(Failure::lost())))
    }

    /// Waits until everything that was asked for is written.
    pub(super) async fn close(&self) {
        self.lock().take();
        self.tasks.close();
        let _ = tokio::time::timeout(PATIENCE, self.tasks.wait()).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<mpsc::UnboundedSender<Waiting>>> {
        self.sender
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

enum Target {
    File(Arc<Writer>),
    Server(server::Connection),
}

/// How a statement failed. Nothing of it was kept.
enum Broken {
    /// The database has refused it: of several appends one is at fault.
    Refused(Refusal),
    /// Nothing can be written now. With a server that is cut off, it is not known whether it was written: whoever goes on
    /// looks into the journal.
    Failed(Failure),
}

impl Target {
    async fn run(mut self, mut heard: mpsc::UnboundedReceiver<Waiting>) {
        let mut waiting = Vec::new();
        while heard.recv_many(&mut waiting, MOST).await > 0 {
            let mut rest = std::mem::take(&mut waiting);
            while !rest.is_empty() {
                let (now, later) = one_of_each(rest);
                self.write_all(now).await;
                rest = later;
            }
        }
    }

    /// Tells each how it went. Where one broke the statement of all, each gets its own.
    async fn write_all(&mut self, all: Vec<Waiting>) {
        let batches: Vec<&Batch> = all.iter().map(|waiting| &waiting.batch).collect();
        let outcome = match self.write(&batches).await {
            Ok(Fenced(fenced)) => {
                for waiting in all {
                    let outcome = if fenced.contains(&waiting.batch.id) {
                        Err(Refusal::Fenced)
                    } else {
                        Ok(())
                    };
                    waiting.hears(outcome);
                }
                return;
            }
            Err(Broken::Refused(_)) if all.len() > 1 => {
                for waiting in all {
                    Box::pin(self.write_all(vec![waiting])).await;
                }
                return;
            }
            Err(Broken::Refused(refusal)) => refusal,
            Err(Broken::Failed(failure)) => Refusal::Failed(failure),
        };
        for waiting in all {
            waiting.hears(Err(outcome.clone()));
        }
    }

    async fn write(&mut self, batches: &[&Batch]) -> Result<Fenced, Broken> {
        match self {
            Self::File(writer) => file::write(writer, batches).await,
            Self::Server(connection) => connection.write(batches).await,
        }
    }
}

/// The debates that somebody else has leased since. Nothing was written to them.
struct Fenced(HashSet<Uuid>);

impl Waiting {
    fn hears(self, outcome: Result<(), Refusal>) {
        // Who no longer waits does not want to know.
        let _ = self.tell.send(outcome);
    }
}

/// The first of each debate, as many as one statement takes, and what has to wait for it: a statement changes a row once.
fn one_of_each(all: Vec<Waiting>) -> (Vec<Waiting>, Vec<Waiting>) {
    let mut seen = HashSet::new();
    let mut entries = 0;
    all.into_iter().partition(|waiting| {
        entries += waiting.batch.entries.len();
        let is_first = seen.insert(waiting.batch.id);
        is_first && (entries <= MOST_ENTRIES || seen.len() == 1)
    })
}

#[cfg(test)]
#[path = "appender_tests.rs"]
mod tests;
