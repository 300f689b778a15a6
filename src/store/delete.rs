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
        self.remove_debate_lock(id);
        match deleted {
            1 => Ok(()),
            _ => Err(LeaseError::NotFound { id }),
        }
    }
}
