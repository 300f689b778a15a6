//! The store: the journals of all debates and the listings made from them, in one `SQLite` file in the data folder.
//!
//! It promises: an append that returned survives a power cut; one process at a time runs a debate, and one that was
//! presumed dead writes nothing; several processes can use the folder at once; a damaged database is kept, never
//! overwritten.
//!
//! The SQL is such that `PostgreSQL` understands it too.

mod claim;
mod delete;
mod errors;
mod folder;
mod gather;
mod journal;
mod open;
mod query;
mod rate;
mod resolve;
mod row;
mod served;
mod tally;
mod tokens;
mod writer;

#[cfg(test)]
mod fixtures;

use std::sync::Arc;

use sqlx::AnyPool;

pub(crate) use claim::Claim;
pub(crate) use errors::{ClaimError, FindError, StoreError};
pub(crate) use query::{Filter, Place};
pub(crate) use rate::Rating;
pub(crate) use resolve::Resolving;
pub(crate) use row::DebateRow;
pub(crate) use served::{Created, Sent};
pub(crate) use tokens::{Scope, TokenError, TokenRow};

use errors::Failure;
use folder::Folder;
use gather::Gathering;
use writer::Writer;

#[derive(Debug, Clone)]
pub(crate) struct Store {
    folder: Arc<Folder>,
    writer: Arc<Writer>,
    gathering: Arc<Gathering>,
    reader: AnyPool,
}

impl Store {
    /// Waits until everything is written back. Without it nothing is lost, but the log file stays for the next run.
    pub(crate) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }

    fn failed(&self, failure: Failure) -> StoreError {
        self.folder.report(failure)
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
