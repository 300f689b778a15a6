//! Deletes a debate with its journal (C-14).

use uuid::Uuid;

use super::Store;
use super::errors::LeaseError;

impl Store {
    /// Refused while another process runs the debate.
    pub(crate) async fn delete(&self, id: Uuid) -> Result<(), LeaseError> {
        let Some(_lock) = self.try_lock_debate(id).await? else {
            return Err(LeaseError::Held { id });
        };
        // The journal is deleted by the foreign key.
        let query = sqlx::query("DELETE FROM debates WHERE id = $1").bind(id.to_string());
        let deleted = self.run(self.writer.change(query)).await?;
        self.remove_debate_lock(id);
        match deleted {
            1 => Ok(()),
            _ => Err(LeaseError::NotFound { id }),
        }
    }
}
