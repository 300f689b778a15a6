//! The track record: what became of the forecasts in the store.

use roundtable_core::forecast::Observation;
use roundtable_engine::event::Millis;
use roundtable_engine::protocols::forecast::{Scored, observations, scored};

use crate::store::{Store, StoreError};

/// Every debate of which it is known what happened and whose day is over.
pub(crate) async fn scored_debates(store: &Store, now: Millis) -> Result<Vec<Scored>, StoreError> {
    let mut all = Vec::new();
    for id in store.resolved_ids().await? {
        let entries = store.entries(id).await?;
        all.extend(scored(&id.to_string(), &entries, now));
    }
    Ok(all)
}

/// What the roles can learn from them.
pub(crate) async fn history(store: &Store, now: Millis) -> Result<Vec<Observation>, StoreError> {
    let all = scored_debates(store, now).await?;
    Ok(all.iter().flat_map(observations).collect())
}
