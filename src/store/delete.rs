//! Deletes debates with their journals, and their text from the files (C-14).

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection};
use uuid::Uuid;

use super::Store;
use super::dialect::Dialect;
use super::errors::{Failure, LeaseError, StoreError};
use super::location::Location;
use super::open::file_url;

/// The result of deleting many debates. Those that another process deleted first are in neither list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Deleted {
    pub deleted: Vec<Uuid>,
    /// Not deleted, because another process runs them.
    pub in_use: Vec<Uuid>,
}

impl Store {
    /// Refused while another process runs the debate.
    pub(crate) async fn delete(&self, id: Uuid) -> Result<(), LeaseError> {
        self.delete_row(id).await?;
        Ok(self.run(self.truncate_wal()).await?)
    }

    pub(crate) async fn delete_all(&self, ids: &[Uuid]) -> Result<Deleted, StoreError> {
        let mut all = Deleted::default();
        for id in ids {
            match self.delete_row(*id).await {
                Ok(()) => all.deleted.push(*id),
                Err(LeaseError::NotFound { .. }) => {}
                Err(LeaseError::Held { .. }) => all.in_use.push(*id),
                Err(LeaseError::Store(error)) => return Err(error),
            }
        }
        self.run(self.truncate_wal()).await?;
        Ok(all)
    }

    async fn delete_row(&self, id: Uuid) -> Result<(), LeaseError> {
        let Some(_lock) = self.try_lock_debate(id).await? else {
            return Err(LeaseError::Held { id });
        };
        // The costs stay: otherwise deleting a debate would raise what its token may spend today.
        let keep_costs = sqlx::query(
            "INSERT INTO other_costs (id, token_id, at, cost_usd) \
             SELECT id, token_id, updated_at, cost_usd FROM debates WHERE id = $1 AND token_id <> ''",
        )
        .bind(id.to_string());
        // The journal is deleted by the foreign key.
        let delete = sqlx::query("DELETE FROM debates WHERE id = $1").bind(id.to_string());
        let deleted = async {
            let mut transaction = self.writer.begin().await?;
            let deleted = async {
                keep_costs.execute(transaction.connection()).await?;
                let deleted = delete.execute(transaction.connection()).await?;
                Ok(deleted.rows_affected())
            };
            let deleted = deleted.await;
            transaction.finish(deleted).await
        };
        let deleted = self.run(deleted).await?;
        if let Location::Folder(folder) = &*self.location {
            for copy in folder.copies() {
                let deleted = async { delete_from_copy(file_url(copy)?, id).await };
                self.run(deleted).await?;
            }
        }
        self.remove_debate_lock(id);
        match deleted {
            1 => Ok(()),
            _ => Err(LeaseError::NotFound { id }),
        }
    }

    /// Empties the WAL, which still has the pages with the deleted text. Waits up to five seconds for readers; if they take
    /// longer, a later checkpoint does it.
    async fn truncate_wal(&self) -> Result<(), Failure> {
        if self.writer.dialect() == Dialect::Sqlite {
            let checkpoint = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
            self.writer.fetch_all(checkpoint).await?;
        }
        Ok(())
    }

    /// Returns the space of deleted debates to the file system, and how much that is. `None` on a server, which manages its
    /// space itself.
    pub(crate) async fn compact(&self) -> Result<Option<u64>, StoreError> {
        let Location::Folder(folder) = &*self.location else {
            return Ok(None);
        };
        let before = folder.size();
        self.run(async {
            self.writer.fetch_all(sqlx::query("VACUUM")).await?;
            self.truncate_wal().await
        })
        .await?;
        Ok(Some(before.saturating_sub(folder.size())))
    }
}

/// A copy from before a migration has the same text.
async fn delete_from_copy(url: String, id: Uuid) -> Result<(), Failure> {
    let options: AnyConnectOptions = url.parse()?;
    let mut connection = AnyConnection::connect_with(&options).await?;
    Dialect::Sqlite.configure(&mut connection).await?;
    sqlx::query("DELETE FROM debates WHERE id = $1")
        .bind(id.to_string())
        .execute(&mut connection)
        .await?;
    Ok(connection.close().await?)
}

#[cfg(test)]
#[path = "delete_tests.rs"]
mod tests;
