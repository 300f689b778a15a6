//! How readers file debates: pinned, and with tags. And what debates have cost by month.

use std::collections::{BTreeMap, BTreeSet};

use roundtable_core::usage::Money;
use roundtable_engine::event::Millis;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::errors::StoreError;
use super::row::parse_id;
use super::{Store, signed, unsigned};

/// The filing of one debate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filing {
    pub is_pinned: bool,
    pub tags: BTreeSet<String>,
}

/// The usage of the debates of a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PeriodUsage {
    pub since: Millis,
    pub debates: u64,
    pub tokens: u64,
    /// The known part.
    pub cost: Money,
}

impl Store {
    /// Replaces the filing of a debate.
    pub(crate) async fn file(&self, id: Uuid, filing: &Filing) -> Result<(), StoreError> {
        let debate = id.to_string();
        let filed = async {
            let mut transaction = self.writer.begin().await?;
            let filed = async {
                for sql in [
                    "DELETE FROM pins WHERE debate_id = $1",
                    "DELETE FROM tags WHERE debate_id = $1",
                ] {
                    let clear = sqlx::query(sql).bind(debate.clone());
                    clear.execute(transaction.connection()).await?;
                }
                if filing.is_pinned {
                    let pin = sqlx::query("INSERT INTO pins (debate_id) VALUES ($1)");
                    let pin = pin.bind(debate.clone());
                    pin.execute(transaction.connection()).await?;
                }
                for tag in &filing.tags {
                    let add = sqlx::query("INSERT INTO tags (debate_id, tag) VALUES ($1, $2)");
                    let add = add.bind(debate.clone()).bind(tag.clone());
                    add.execute(transaction.connection()).await?;
                }
                Ok(())
            };
            let filed = filed.await;
            transaction.finish(filed).await
        };
        self.run(filed).await
    }

    /// The filing of these debates. Those without any are left out.
    pub(crate) async fn filings(&self, ids: &[Uuid]) -> Result<BTreeMap<Uuid, Filing>, StoreError> {
        let mut filings: BTreeMap<Uuid, Filing> = BTreeMap::new();
        if ids.is_empty() {
            return Ok(filings);
        }
        let places: Vec<String> = (1..=ids.len()).map(|number| format!("${number}")).collect();
        let places = places.join(", ");
        let sql = format!(
            "SELECT debate_id, '' AS tag FROM pins WHERE debate_id IN ({places}) \
             UNION ALL SELECT debate_id, tag FROM tags WHERE debate_id IN ({places})"
        );
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        for id in ids {
            query = query.bind(id.to_string());
        }
        let read = |row: &AnyRow| {
            let tag: String = row.try_get("tag")?;
            Ok((parse_id(row.try_get("debate_id")?)?, tag))
        };
        for (id, tag) in self.read_all(query, read).await? {
            let filing = filings.entry(id).or_default();
            if tag.is_empty() {
                filing.is_pinned = true;
            } else {
                filing.tags.insert(tag);
            }
        }
        Ok(filings)
    }

    /// The tags of all debates, or of those of one token, in alphabetical order.
    pub(crate) async fn all_tags(&self, token: Option<Uuid>) -> Result<Vec<String>, StoreError> {
        const MOST: i64 = 200;
        let query = sqlx::query(
            "SELECT DISTINCT tags.tag AS tag FROM tags JOIN debates ON debates.id = tags.debate_id \
             WHERE $1 = '' OR debates.token_id = $1 ORDER BY tags.tag LIMIT $2",
        )
        .bind(token.map_or_else(String::new, |token| token.to_string()))
        .bind(MOST);
        self.read_all(query, |row| Ok(row.try_get("tag")?)).await
    }

    /// The usage of the debates that were created in each period: from its start to the next one's.
    pub(crate) async fn usage_by_period(
        &self,
        starts: &[Millis],
        token: Option<Uuid>,
    ) -> Result<Vec<PeriodUsage>, StoreError> {
        let token = token.map_or_else(String::new, |token| token.to_string());
        let mut usage = Vec::new();
        for (index, since) in starts.iter().enumerate() {
            let until = starts.get(index + 1).map_or(i64::MAX, |next| signed(*next));
            let query = sqlx::query(
                "SELECT COUNT(*) AS debates, CAST(COALESCE(SUM(input_tokens + output_tokens), 0) AS BIGINT) AS tokens, \
                 COALESCE(SUM(cost_usd), 0.0) AS cost FROM debates \
                 WHERE created_at >= $1 AND created_at < $2 AND ($3 = '' OR token_id = $3)",
            )
            .bind(signed(*since))
            .bind(until)
            .bind(token.clone());
            let read = |row: &AnyRow| {
                Ok(PeriodUsage {
                    since: *since,
                    debates: unsigned(row.try_get("debates")?),
                    tokens: unsigned(row.try_get("tokens")?),
                    cost: Money::from_dollars(row.try_get("cost")?).unwrap_or(Money::ZERO),
                })
            };
            usage.extend(self.read_all(query, read).await?);
        }
        Ok(usage)
    }
}

#[cfg(test)]
#[path = "filing_tests.rs"]
mod tests;
