//! The track record of resolved forecasts.

use roundtable_core::forecast::Observation;
use roundtable_engine::event::Millis;
use roundtable_engine::protocols::forecast::{Scored, observations, scored};

use uuid::Uuid;

use crate::store::{Store, StoreError};

/// The scores of all resolved forecasts whose date has passed; with a token only its own.
pub(crate) async fn scored_debates(
    store: &Store,
    token: Option<Uuid>,
    now: Millis,
) -> Result<Vec<Scored>, StoreError> {
    let mut all = Vec::new();
    for id in store.resolved_ids(token).await? {
        let entries = store.entries(id).await?;
        all.extend(scored(&id.to_string(), &entries, now));
    }
    Ok(all)
}

/// Observations for calibration, from all scored forecasts.
pub(crate) async fn history(store: &Store, now: Millis) -> Result<Vec<Observation>, StoreError> {
    let all = scored_debates(store, None, now).await?;
    Ok(all.iter().flat_map(observations).collect())
}
