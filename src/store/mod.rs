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
mod journal;
mod open;
mod query;
mod rate;
mod row;
mod tally;

#[cfg(test)]
mod fixtures;

use std::sync::Arc;

use sqlx::{Any, AnyPool, Transaction};

pub(crate) use claim::Claim;
pub(crate) use errors::{ClaimError, FindError, StoreError};
pub(crate) use query::{Filter, Page};
pub(crate) use rate::Rating;
pub(crate) use row::{DebateRow, Totals};

use errors::Failure;
use folder::Folder;

#[derive(Debug, Clone)]
pub(crate) struct Store {
    folder: Arc<Folder>,
    writer: AnyPool,
    reader: AnyPool,
}

impl Store {
    /// Waits until everything is written back. Without it nothing is lost, but the log file stays for the next run.
    pub(crate) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }

    /// IMMEDIATE: a transaction that read first and only then wants to write could be refused instead of waiting.
    async fn begin(&self) -> Result<Transaction<'static, Any>, Failure> {
        Ok(self.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// Commits what went well and takes back what did not.
    async fn end<T, E: From<sqlx::Error>>(
        transaction: Transaction<'static, Any>,
        outcome: Result<T, E>,
    ) -> Result<T, E> {
        match outcome {
            Ok(value) => {
                transaction.commit().await?;
                Ok(value)
            }
            Err(error) => {
                // The first error says more; a connection that cannot roll back is replaced.
                let _ = transaction.rollback().await;
                Err(error)
            }
        }
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
