//! The track record of resolved forecasts.
//!
//! Scores are kept in memory: a journal is read again only if it has grown.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use roundtable_engine::event::Millis;
use roundtable_engine::protocols::forecast::{Scored, scored};
use uuid::Uuid;

use crate::store::{Store, StoreError};

/// The scores of the resolved forecasts of one store.
#[derive(Default)]
pub(crate) struct ForecastHistory {
    known: Mutex<HashMap<Uuid, Known>>,
}

/// The score of a forecast, whose journal had this last entry.
#[derive(Clone)]
struct Known {
    seq: u64,
    scored: Option<Scored>,
}

impl ForecastHistory {
    /// The scores of all resolved forecasts whose date has passed, oldest first; with a token only its own.
    pub(crate) async fn scored(
        &self,
        store: &Store,
        token: Option<Uuid>,
        now: Millis,
    ) -> Result<Vec<Scored>, StoreError> {
        let mut known = HashMap::new();
        let mut all = Vec::new();
        for (id, seq) in store.resolved_debates(token).await? {
            let score = if let Some(score) = self.known(id, seq) {
                score
            } else {
                let entries = store.entries(id).await?;
                let seq = entries.last().map_or(0, |last| last.seq);
                // Its date is compared below, because it passes while the score is kept.
                let scored = scored(&id.to_string(), &entries, Millis::MAX);
                Known { seq, scored }
            };
            all.extend(score.scored.clone().filter(|scored| scored.due_at <= now));
            known.insert(id, score);
        }
        let mut kept = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if token.is_none() {
            // Deleted debates are forgotten.
            kept.clear();
        }
        kept.extend(known);
        Ok(all)
    }

    fn known(&self, id: Uuid, seq: u64) -> Option<Known> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&id).filter(|known| known.seq == seq).cloned()
    }
}

#[cfg(test)]
#[path = "forecast_history_tests.rs"]
mod tests;
