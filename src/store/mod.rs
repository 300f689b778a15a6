//! The store: the journals of all debates and the table that lists them, in an `SQLite` file in the data folder or in a
//! `PostgreSQL` database.
//!
//! Guarantees: an append that returned survives a power cut; one process at a time runs a debate, and a process that lost its
//! lease can no longer write; several processes can use the store at once; a damaged file is kept, never overwritten.
//!
//! Both databases use the same SQL. The differences are in `dialect`, `location` (locking) and `appender` (group commit).

mod address;
mod appender;
mod audit_log;
mod chain;
mod check;
mod commands;
mod conditions;
mod delete;
mod dialect;
mod errors;
mod estimates;
mod file_readers;
mod filing;
mod flags;
mod folder;
mod journal;
mod learning;
mod lease;
mod left_alone;
mod liveness;
mod location;
mod maintenance;
mod open;
mod ownership;
mod query;
mod questions;
mod queue;
mod rate;
mod resolve;
mod results;
mod round_values;
mod row;
mod row_delta;
mod schema;
mod seal;
mod server_debates;
mod sessions;
mod shares;
mod spending;
mod test_calls;
mod thread;
mod token_life;
mod token_limits;
mod tokens;
mod transfer;
mod worker_queue;
mod writer;

#[cfg(test)]
mod test_stores;
#[cfg(test)]
pub(crate) mod test_support;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roundtable_engine::event::State;
use serde::Serialize;
use sqlx::AnyPool;

pub(crate) use address::Address;
pub(crate) use audit_log::{AuditEntry, AuditOutcome, AuditRecord, AuditSelection, Via};
pub(crate) use commands::{COMMAND_TIMEOUT, Command, CommandOutcome, PendingCommand};
pub(crate) use delete::Deleted;
pub(crate) use errors::{FindError, LeaseError, StoreError};
pub(crate) use estimates::PastEstimate;
pub(crate) use filing::{Filing, PeriodUsage};
pub(crate) use learning::{FollowUp, LearningError};
pub(crate) use lease::Lease;
pub(crate) use left_alone::LeaveAlone;
pub(crate) use maintenance::{BackupError, Keep};
pub(crate) use query::{Filter, ListPosition, MAX_COUNTED, MAX_SEARCH_CHARS, Page};
pub(crate) use questions::StoredQuestion;
pub(crate) use rate::Rating;
pub(crate) use resolve::Resolution;
pub(crate) use row::{DebateRow, Totals};
pub(crate) use server_debates::{CreateRequest, Created};
pub(crate) use sessions::SessionTimeouts;
pub(crate) use shares::ShareRow;
pub(crate) use spending::{Spending, TurnLock};
pub(crate) use test_calls::TestCall;
pub(crate) use thread::Thread;
pub(crate) use token_life::Uses;
pub(crate) use token_limits::{Reach, TokenLimits};
#[cfg(test)]
pub(crate) use tokens::OldSecret;
pub(crate) use tokens::{Scope, TokenError, TokenRow};
pub(crate) use transfer::{Content, CopyError};
pub(crate) use worker_queue::Notification;

use appender::Appender;
use errors::Failure;
use file_readers::FileReaders;
use location::Location;
use query::Searches;
use writer::Writer;

/// How long an operation on a `PostgreSQL` server may take. A dead connection gives no error, so every wait needs a limit.
const SERVER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long closing waits for background tasks.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(crate) struct Store {
    location: Arc<Location>,
    writer: Arc<Writer>,
    appender: Arc<Appender>,
    /// Reads of a server, and of a file those without a time limit: copies, checks and backups.
    reader: AnyPool,
    /// All other reads of a file.
    file_readers: Option<Arc<FileReaders>>,
    searches: Arc<Searches>,
    /// The number of queries so far.
    #[cfg(test)]
    pub(crate) reads: Arc<std::sync::atomic::AtomicU64>,
}

impl Store {
    /// Waits for pending writes and checkpoints the database. Without it nothing is lost, but the WAL file stays.
    pub(crate) async fn close(&self) {
        self.appender.close().await;
        if let Location::Server(server) = &*self.location {
            server.ownership.close().await;
            server.queue.close().await;
        }
        self.reader.close().await;
        if let Some(readers) = &self.file_readers {
            readers.close().await;
        }
        self.writer.close().await;
    }

    /// Whether processes on other machines can use it too.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(&*self.location, Location::Server(_))
    }

    fn failed(&self, failure: impl Into<Failure>) -> StoreError {
        self.location.report(failure.into())
    }

    /// Completes an operation, with the location in its error.
    async fn run<T>(
        &self,
        operation: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, StoreError> {
        // Boxed, because a future that takes another by value is twice as large.
        let done = Box::pin(operation).await;
        done.map_err(|failure| self.failed(failure))
    }
}

/// SQL has no unsigned integers. No value stored here comes near `i64::MAX`.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::unreadable(error.to_string()))
}

/// Locks a mutex. Its data is valid after a panic elsewhere, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
