//! Debates that nothing runs any more although they are marked as running: their process died. They are recognised when they are
//! read, by a free lock file or an expired owner, and shown as interrupted.

use std::collections::HashSet;

use roundtable_engine::event::State;
use roundtable_engine::table::Budget;
use uuid::Uuid;

use super::dialect::server_now;
use super::errors::StoreError;
use super::location::Location;
use super::row::DebateRow;
use super::{Store, to_json};

impl Store {
    /// The row with the state that people are shown.
    pub(crate) async fn shown(&self, mut row: DebateRow) -> Result<DebateRow, StoreError> {
        if row.state == State::Running && self.dead_debates().await?.contains(&row.id) {
            row.state = State::Interrupted;
        }
        Ok(row)
    }

    /// Debates marked as running that no process runs. In a shared database, servers and workers resume their own debates within
    /// seconds, so those still count as running.
    pub(super) async fn dead_debates(&self) -> Result<HashSet<Uuid>, StoreError> {
        match &*self.location {
            Location::Folder(folder) => {
                let running = "SELECT id FROM debates WHERE state = 'running'";
                let running = self.select_ids(running).await?;
                let dead = running.into_iter().filter(|id| folder.is_debate_free(*id));
                Ok(dead.collect())
            }
            Location::Server(_) => {
                let dead = self
                    .select_ids(concat!(
                        "SELECT id FROM debates WHERE state = 'running' AND served = 0 AND NOT EXISTS \
                         (SELECT 1 FROM owners WHERE owners.id = debates.owner AND owners.lives_until > ",
                        server_now!(),
                        ")"
                    ))
                    .await?;
                Ok(dead.into_iter().collect())
            }
        }
    }

    /// Replaces the limits that the debate was started with.
    pub(crate) async fn set_budget(&self, id: Uuid, budget: &Budget) -> Result<(), StoreError> {
        let budget = to_json(budget).map_err(|failure| self.failed(failure))?;
        let query = sqlx::query("UPDATE debates SET budget = $2 WHERE id = $1")
            .bind(id.to_string())
            .bind(budget);
        self.run(self.writer.change(query)).await.map(drop)
    }
}
