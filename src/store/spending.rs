//! The spending of a token on a day, and the remaining budgets of its running debates.

use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::event::Millis;
use serde::Deserialize;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, Row, Transaction};
use uuid::Uuid;

use super::errors::{Failure, StoreError};
use super::query::read_entry;
use super::row::parse_id;
use super::row_delta::RowDelta;
use super::token_limits::TokenLimits;
use super::{Store, signed};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spending {
    /// Known costs since the start of the day.
    pub spent: Money,
    /// The remaining budgets of running and queued debates, as far as their cost is limited.
    pub reserved: Money,
    /// Running and queued debates.
    pub running: u64,
}

/// The budget in a debate's setup.
#[derive(Deserialize)]
struct Opened {
    budget: Budget,
}

/// The turn of one process to check a limit that all of them share. Dropping it ends the turn. In a data folder, only one server
/// runs.
pub(crate) struct TurnLock {
    _transaction: Option<Transaction<'static, Any>>,
}

impl Store {
    /// Waits until no other process of a shared database checks the limits of this token.
    pub(crate) async fn lock_quota(&self, token: Uuid) -> Result<TurnLock, StoreError> {
        self.lock_turn(&format!("quota/{token}")).await
    }

    pub(super) async fn lock_turn(&self, subject: &str) -> Result<TurnLock, StoreError> {
        if !self.is_shared() {
            return Ok(TurnLock { _transaction: None });
        }
        let locking = async {
            let mut transaction = self.reader.begin().await?;
            // The lock ends with the transaction. An exclusive lock of the token's row would make its other users wait.
            sqlx::query(
                "SELECT CAST(pg_advisory_xact_lock(hashtextextended($1, 0)) AS TEXT) AS turn",
            )
            .bind(format!("roundtable/{subject}"))
            .fetch_one(&mut *transaction)
            .await?;
            Ok::<_, sqlx::Error>(transaction)
        };
        let transaction = locking.await.map_err(|error| self.failed(error))?;
        Ok(TurnLock {
            _transaction: Some(transaction),
        })
    }

    /// `since` is the start of the day.
    pub(crate) async fn spending(
        &self,
        token: Uuid,
        since: Millis,
    ) -> Result<Spending, StoreError> {
        let token = token.to_string();
        let select = |sql: &'static str| sqlx::query(sql).bind(token.clone()).bind(signed(since));
        // The whole cost of a debate of today is of today; of earlier debates the journal says what is.
        let today = self.read_sum(select(
            "SELECT COALESCE(SUM(cost_usd), 0.0) AS total FROM debates WHERE token_id = $1 AND created_at >= $2",
        ));
        let other = self.read_sum(select(
            "SELECT COALESCE(SUM(cost_usd), 0.0) AS total FROM other_costs WHERE token_id = $1 AND at >= $2",
        ));
        let mut spending = Spending {
            spent: today.await? + other.await?,
            ..Spending::default()
        };
        let earlier = select(
            "SELECT id FROM debates WHERE token_id = $1 AND created_at < $2 AND updated_at >= $2",
        );
        let earlier = self.read_all(earlier, |row| parse_id(row.try_get("id")?));
        for id in earlier.await? {
            spending.spent = spending.spent + self.spent_since(id, since).await?;
        }
        let active = sqlx::query(
            "SELECT cost_usd, budget, setup FROM debates WHERE token_id = $1 AND state IN ('queued', 'running')",
        )
        .bind(token.clone());
        for left in self.read_all(active, read_left).await? {
            spending.running += 1;
            spending.reserved = spending.reserved + left;
        }
        Ok(spending)
    }

    /// Records a cost of a token that is in no debate.
    pub(crate) async fn add_cost(
        &self,
        token: Uuid,
        at: Millis,
        cost: Money,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(
            "INSERT INTO other_costs (id, token_id, at, cost_usd) VALUES ($1, $2, $3, $4)",
        )
        .bind(Uuid::new_v4().to_string())
        .bind(token.to_string())
        .bind(signed(at))
        .bind(cost.dollars());
        self.run(self.writer.change(query)).await.map(drop)
    }

    /// The limits of the token that created a debate; none if it belongs to no token, or the token was revoked.
    pub(crate) async fn limits_of(&self, debate: Uuid) -> Result<TokenLimits, StoreError> {
        let query = sqlx::query(
            "SELECT tokens.limits AS limits FROM tokens JOIN debates ON debates.token_id = tokens.id WHERE debates.id = $1",
        )
        .bind(debate.to_string());
        let read = |row: &AnyRow| {
            TokenLimits::read(row.try_get("limits")?)
                .ok_or_else(|| Failure::unreadable("the limits of a token".to_owned()))
        };
        Ok(self.read_optional(query, read).await?.unwrap_or_default())
    }

    async fn spent_since(&self, id: Uuid, since: Millis) -> Result<Money, StoreError> {
        let query = sqlx::query(
            "SELECT seq, at, body FROM journal WHERE debate_id = $1 AND at >= $2 AND kind IN ('step_finished', 'step_failed')",
        )
        .bind(id.to_string())
        .bind(signed(since));
        let entries = self.read_all(query, |row| read_entry(id, row)).await?;
        Ok(RowDelta::of(&entries).cost)
    }

    async fn read_sum(&self, query: Query<'_, Any, AnyArguments>) -> Result<Money, StoreError> {
        let sum = self
            .read_optional(query, |row| Ok(row.try_get::<f64, _>("total")?))
            .await?;
        Ok(money(sum.unwrap_or(0.0)))
    }
}

/// The remaining budget of a running debate; zero if its cost is not limited.
fn read_left(row: &AnyRow) -> Result<Money, Failure> {
    let spent = money(row.try_get("cost_usd")?);
    let replaced: &str = row.try_get("budget")?;
    let unreadable = |error: serde_json::Error| Failure::unreadable(format!("a budget: {error}"));
    let budget = if replaced.is_empty() {
        let opened: Opened = serde_json::from_str(row.try_get("setup")?).map_err(unreadable)?;
        opened.budget
    } else {
        serde_json::from_str(replaced).map_err(unreadable)?
    };
    let limit = budget.max_cost.unwrap_or(spent);
    Ok(limit.saturating_sub(spent))
}

/// The database adds in floating point; rounding to picodollars makes the sum exact again.
pub(super) fn money(dollars: f64) -> Money {
    Money::from_dollars(dollars).unwrap_or(Money::ZERO)
}

#[cfg(test)]
#[path = "spending_tests.rs"]
mod tests;
