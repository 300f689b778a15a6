//! Checksums for entries that were written without one.

use sqlx::AnyConnection;
use uuid::Uuid;

use super::Store;
use super::check::{Found, check_debate};
use super::dialect::Dialect;
use super::errors::{Failure, StoreError};
use super::location::DebateLock;
use super::row::parse_id;

/// The debates whose entries got checksums, and those that were left alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub sealed: Vec<Uuid>,
    /// They are running, or they have other errors.
    pub skipped: Vec<Uuid>,
}

impl Store {
    /// Takes the entries without a checksum as they are, and adds one to each, so that later changes to them are found.
    pub(crate) async fn add_checksums(&self) -> Result<Sealed, StoreError> {
        let query = sqlx::query(
            "SELECT DISTINCT debate_id AS id FROM journal WHERE checksum IS NULL ORDER BY debate_id",
        );
        let read = |row: &sqlx::any::AnyRow| parse_id(sqlx::Row::try_get(row, "id")?);
        let mut done = Sealed::default();
        for id in self.read_all(query, read).await? {
            let is_sealed = match self.try_lock_debate(id).await? {
                Some(DebateLock::Missing) | None => false,
                Some(_lock) => self.run(self.seal(id)).await?,
            };
            if is_sealed {
                done.sealed.push(id);
            } else {
                done.skipped.push(id);
            }
        }
        Ok(done)
    }

    /// The caller has locked the debate. `false` if it has other errors.
    async fn seal(&self, id: Uuid) -> Result<bool, Failure> {
        let mut transaction = self.writer.begin().await?;
        let dialect = self.writer.dialect();
        let sealed = seal(transaction.connection(), dialect, &id.to_string()).await;
        transaction.finish(sealed).await
    }
}

async fn seal(connection: &mut AnyConnection, dialect: Dialect, id: &str) -> Result<bool, Failure> {
    let found = check_debate(connection, dialect, id).await?;
    let Some((_, last)) = found.checksums.last().filter(|_| is_sound(&found)) else {
        return Ok(false);
    };
    for (seq, checksum) in &found.checksums {
        sqlx::query("UPDATE journal SET checksum = $3 WHERE debate_id = $1 AND seq = $2")
            .bind(id.to_owned())
            .bind(*seq)
            .bind(checksum.clone())
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query("UPDATE debates SET chain = $2 WHERE id = $1")
        .bind(id.to_owned())
        .bind(last.clone())
        .execute(connection)
        .await?;
    Ok(true)
}

/// Whether missing checksums are its only errors.
fn is_sound(found: &Found) -> bool {
    found.faults.len() as u64 == found.late_without_checksum
}
