//! The estimates of finished debates next to what they used (B-13).

use roundtable_core::estimate::Amounts;
use roundtable_core::usage::Money;
use roundtable_engine::depth::Depth;
use roundtable_engine::estimate::{Estimate, KEY};
use roundtable_engine::event::Event;
use serde::Deserialize;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::errors::{Failure, StoreError};
use super::row::Totals;
use super::{Store, signed, unsigned};

/// The newest debates of a protocol that are searched for those of a depth.
const MAX_SEARCHED: u64 = 200;

/// A finished debate that was estimated before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PastEstimate {
    pub protocol: String,
    pub estimate: Estimate,
    pub used: Amounts,
}

impl Store {
    /// The newest complete debates of a protocol and depth, newest first.
    pub(crate) async fn past_estimates(
        &self,
        protocol: &str,
        depth: Depth,
        limit: usize,
    ) -> Result<Vec<PastEstimate>, StoreError> {
        let query = sqlx::query(
            "SELECT found.*, journal.body FROM (SELECT id, protocol, created_at, ended_at, calls, retries, input_tokens, \
             output_tokens, cached_tokens, cost_usd, cost_known FROM debates WHERE protocol = $1 AND state = 'complete' \
             ORDER BY created_at DESC, id DESC LIMIT $2) AS found JOIN journal ON journal.debate_id = found.id \
             AND journal.key = $3 WHERE journal.body LIKE $4 ORDER BY found.created_at DESC, found.id DESC LIMIT $5",
        )
        .bind(protocol.to_owned())
        .bind(signed(MAX_SEARCHED))
        .bind(KEY)
        .bind(format!("%\"depth\":\"{}\"%", depth.name()))
        .bind(signed(limit as u64));
        let read = self.read_all(query, read).await?;
        Ok(read.into_iter().flatten().collect())
    }

    /// The newest complete debates of all protocols that were estimated, newest first.
    pub(crate) async fn all_past_estimates(
        &self,
        limit: usize,
    ) -> Result<Vec<PastEstimate>, StoreError> {
        let query = sqlx::query(
            "SELECT protocol, created_at, ended_at, calls, retries, input_tokens, output_tokens, cached_tokens, cost_usd, \
             cost_known, journal.body FROM debates JOIN journal ON journal.debate_id = debates.id AND journal.key = $1 \
             WHERE state = 'complete' ORDER BY created_at DESC, id DESC LIMIT $2",
        )
        .bind(KEY)
        .bind(signed(limit as u64));
        let read = self.read_all(query, read).await?;
        Ok(read.into_iter().flatten().collect())
    }
}

/// `None` if another version wrote the estimate in another form.
#[expect(clippy::cast_precision_loss, reason = "amounts of one debate")]
fn read(row: &AnyRow) -> Result<Option<PastEstimate>, Failure> {
    let body: &str = row.try_get("body")?;
    let estimate = match serde_json::from_str(body) {
        Ok(Event::Noted { value, .. }) => Estimate::deserialize(value).ok(),
        Ok(_) | Err(_) => None,
    };
    let totals = Totals::read(row)?;
    let created_at: i64 = row.try_get("created_at")?;
    let ended_at: Option<i64> = row.try_get("ended_at")?;
    let took = unsigned(ended_at.unwrap_or(created_at).saturating_sub(created_at));
    let protocol = row.try_get("protocol")?;
    Ok(estimate.map(|estimate| PastEstimate {
        protocol,
        estimate,
        used: Amounts {
            calls: totals.calls as f64,
            tokens: (totals.input_tokens + totals.output_tokens) as f64,
            cost: totals.cost_usd.map(Money::dollars),
            seconds: took as f64 / 1000.0,
        },
    }))
}
