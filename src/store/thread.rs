//! Threads: the debates before a follow-up, and the follow-ups of a debate (B-14).

use std::collections::HashSet;

use roundtable_engine::event::State;
use uuid::Uuid;

use super::Store;
use super::errors::StoreError;
use super::query::shorten;
use super::row::{DebateRow, select_debates};

/// The longest line of debates before one that is shown.
const MAX_BEFORE: usize = 20;

/// The debates around one, with shortened questions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Thread {
    /// From the first one to the parent; without those that were deleted.
    pub before: Vec<DebateRow>,
    /// The oldest first, at most 100.
    pub follow_ups: Vec<DebateRow>,
}

impl Store {
    /// The thread around a debate. With a token only its debates.
    pub(crate) async fn thread(
        &self,
        row: &DebateRow,
        token: Option<Uuid>,
    ) -> Result<Thread, StoreError> {
        let query = sqlx::query(select_debates!(
            "WHERE parent_id = $1 AND parent_id <> '' ORDER BY created_at, id LIMIT 100"
        ))
        .bind(row.id.to_string());
        let mut follow_ups = self.read_all(query, DebateRow::read).await?;
        let mut before = Vec::new();
        let mut parent = row.parent;
        while let Some(id) = parent
            && before.len() < MAX_BEFORE
            && let Some(row) = self.get(id).await?
        {
            parent = row.parent;
            before.push(row);
        }
        before.reverse();
        if before.is_empty() && follow_ups.is_empty() {
            return Ok(Thread::default());
        }
        let dead = self.dead_debates().await?;
        for rows in [&mut before, &mut follow_ups] {
            rows.retain(|row| token.is_none() || row.token == token);
            for row in rows {
                list(row, &dead);
            }
        }
        Ok(Thread { before, follow_ups })
    }
}

fn list(row: &mut DebateRow, dead: &HashSet<Uuid>) {
    if row.state == State::Running && dead.contains(&row.id) {
        row.state = State::Interrupted;
    }
    shorten(&mut row.question);
}

#[cfg(test)]
#[path = "thread_tests.rs"]
mod tests;
