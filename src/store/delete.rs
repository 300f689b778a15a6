//! Deletes a debate with its journal (C-14).

use uuid::Uuid;

use super::Store;
use super::errors::{Failure, LeaseError};

impl Store {
    /// Refused while another process runs the debate.
    pub(crate) async fn delete(&self, id: Uuid) -> Result<(), LeaseError> {
        let Some(_lock) = self.try_lock_debate(id).await? else {
            return Err(LeaseError::Held { id });
        };
        let deleted = self
            .delete_row(id)
            .await
            .map_err(|failure| self.failed(failure))?;
        self.remove_debate_lock(id);
        if deleted {
            Ok(())
        } else {
            Err(LeaseError::NotFound { id })
        }
    }

    /// The journal is deleted by the foreign key.
    async fn delete_row(&self, id: Uuid) -> Result<bool, Failure> {
        let mut transaction = self.writer.begin().await?;
        let done = sqlx::query("DELETE FROM debates WHERE id = $1")
            .bind(id.to_string())
            .execute(transaction.connection())
            .await
            .map_err(Failure::from);
        Ok(transaction.finish(done).await?.rows_affected() == 1)
    }
}
