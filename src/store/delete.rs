//! Deleting a debate with its journal (C-14).

use uuid::Uuid;

use super::Store;
use super::errors::{Failure, LeaseError};

impl Store {
    /// Refused while another process runs the debate.
    pub(crate) async fn delete(&self, id: Uuid) -> Result<(), LeaseError> {
        let Some(_held) = self.try_hold(id).await? else {
            return Err(LeaseError::Held { id });
        };
        let deleted = self
            .delete_row(id)
            .await
            .map_err(|failure| self.failed(failure))?;
        self.forget_hold(id);
        if deleted {
            Ok(())
        } else {
            Err(LeaseError::NotFound { id })
        }
    }

    /// The journal goes with its debate.
    async fn delete_row(&self, id: Uuid) -> Result<bool, Failure> {
        let mut writing = self.writer.begin().await?;
        let done = sqlx::query("DELETE FROM debates WHERE id = $1")
            .bind(id.to_string())
            .execute(writing.connection())
            .await
            .map_err(Failure::from);
        Ok(writing.end(done).await?.rows_affected() == 1)
    }
}
