//! The store: the journals of all debates and the listings made from them, in one `SQLite` file in the data folder or in a
//! database on a `PostgreSQL` server.
//!
//! It promises: an append that returned survives a power cut; one process at a time runs a debate, and one that was
//! presumed dead writes nothing; several processes can use the store at once; a damaged file is kept, never overwritten.
//!
//! There is one SQL for both. What differs is in `dialect`, and in how debates are held (`home`) and appended to (`appender`).

mod address;
mod appender;
mod commands;
mod delete;
mod dialect;
mod errors;
mod folder;
mod journal;
mod learning;
mod lease;
mod location;
mod maintenance;
mod open;
mod ownership;
mod query;
mod queue;
mod rate;
mod resolve;
mod row;
mod row_delta;
mod server_debates;
mod tokens;
mod transfer;
mod worker_queue;
mod writer;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod test_stores;

use std::sync::Arc;

use roundtable_engine::event::State;
use sqlx::AnyPool;

pub(crate) use address::Address;
pub(crate) use commands::{Command, CommandOutcome, PendingCommand};
pub(crate) use errors::{FindError, LeaseError, StoreError};
pub(crate) use learning::{FollowUp, LearningError};
pub(crate) use lease::Lease;
pub(crate) use maintenance::{BackupError, Keep};
pub(crate) use query::{Filter, ListPosition};
pub(crate) use rate::Rating;
pub(crate) use resolve::Resolution;
pub(crate) use row::DebateRow;
pub(crate) use server_debates::{Created, CreateRequest};
pub(crate) use tokens::{Scope, TokenError, TokenRow};
pub(crate) use transfer::{Content, CopyError};
pub(crate) use worker_queue::Notification;

use appender::Appender;
use errors::Failure;
use location::Home;
use writer::Writer;

#[derive(Debug, Clone)]
pub(crate) struct Store {
    home: Arc<Home>,
    writer: Arc<Writer>,
    appender: Arc<Appender>,
    reader: AnyPool,
}

impl Store {
    /// Waits until everything is written back. Without it nothing is lost, but the log file stays for the next run.
    pub(crate) async fn close(&self) {
        self.appender.close().await;
        if let Home::Server(server) = &*self.home {
            server.ownership.close().await;
            server.queue.close().await;
        }
        self.reader.close().await;
        self.writer.close().await;
    }

    /// Whether processes on other machines may use it too.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(&*self.home, Home::Server(_))
    }

    fn failed(&self, failure: Failure) -> StoreError {
        self.home.report(failure)
    }
}

/// SQL has no unsigned numbers. No count of ours comes near the end of the signed ones.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
