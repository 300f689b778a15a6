//! The results of listed debates, one line each: of the last entry of each journal, nothing else is read.

use std::collections::HashMap;

use roundtable_engine::event::Event;
use roundtable_engine::protocols::result_line;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::query::read_entry;
use super::row::parse_id;
use super::{DebateRow, Failure, Store, StoreError};

/// Debates of one query.
const CHUNK: usize = 100;

impl Store {
    /// Fills in [`DebateRow::result`].
    pub(crate) async fn add_results(&self, debates: &mut [DebateRow]) -> Result<(), StoreError> {
        for chunk in debates.chunks_mut(CHUNK) {
            let ended = chunk.iter().filter(|row| row.ended_at.is_some());
            let ended: Vec<(Uuid, String)> =
                ended.map(|row| (row.id, row.protocol.clone())).collect();
            if ended.is_empty() {
                continue;
            }
            let mut results = self.results(ended).await?;
            for row in chunk {
                row.result = results.remove(&row.id);
            }
        }
        Ok(())
    }

    async fn results(
        &self,
        debates: Vec<(Uuid, String)>,
    ) -> Result<HashMap<Uuid, String>, StoreError> {
        let places: Vec<String> = (1..=debates.len()).map(|n| format!("${n}")).collect();
        let sql = format!(
            "SELECT debate_id, seq, at, body FROM journal WHERE kind = 'ended' AND debate_id IN ({}) ORDER BY seq",
            places.join(", ")
        );
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        for (id, _) in &debates {
            query = query.bind(id.to_string());
        }
        // The results of a judgement are large, so they are parsed on another thread.
        self.count_read();
        let rows = query.fetch_all(&self.reader).await;
        let rows = rows.map_err(|error| self.failed(error))?;
        let read = move || rows.iter().map(|row| line_of(row, &debates)).collect();
        let lines: Result<Vec<Option<(Uuid, String)>>, Failure> =
            match tokio::task::spawn_blocking(read).await {
                Ok(lines) => lines,
                Err(_) => Err(Failure::abandoned()),
            };
        let lines = lines.map_err(|failure| self.failed(failure))?;
        // A debate that was reopened has several ends; the last one counts.
        Ok(lines.into_iter().flatten().collect())
    }
}

fn line_of(row: &AnyRow, debates: &[(Uuid, String)]) -> Result<Option<(Uuid, String)>, Failure> {
    let id = parse_id(row.try_get("debate_id")?)?;
    let Event::Ended(end) = read_entry(id, row)?.event else {
        return Ok(None);
    };
    let protocol = debates.iter().find(|(known, _)| *known == id);
    let line = protocol
        .zip(end.result.as_ref())
        .and_then(|((_, protocol), result)| result_line(protocol, result));
    Ok(line.map(|line| (id, line)))
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
