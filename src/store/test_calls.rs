//! The test calls of the last hour, of all servers of this store.

use roundtable_core::usage::Money;
use roundtable_engine::event::Millis;
use sqlx::Row;
use uuid::Uuid;

use super::errors::StoreError;
use super::spending::{TurnLock, money};
use super::{Store, signed, unsigned};

/// What a test call has used, or can use until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TestCall {
    pub at: Millis,
    pub tokens: u64,
    /// `None` if the price is unknown.
    pub cost: Option<Money>,
}

impl Store {
    /// Waits until no other process of a shared database admits a test call.
    pub(crate) async fn lock_test_calls(&self) -> Result<TurnLock, StoreError> {
        self.lock_turn("test-calls").await
    }

    /// The calls that started after `since`.
    pub(crate) async fn test_calls(&self, since: Millis) -> Result<Vec<TestCall>, StoreError> {
        let query =
            sqlx::query("SELECT at, tokens, cost_usd FROM test_calls WHERE at > $1 ORDER BY at")
                .bind(signed(since));
        self.read_all(query, |row| {
            Ok(TestCall {
                at: unsigned(row.try_get("at")?),
                tokens: unsigned(row.try_get("tokens")?),
                cost: row.try_get::<Option<f64>, _>("cost_usd")?.map(money),
            })
        })
        .await
    }

    /// Adds a call, and deletes those that started at `since` or earlier.
    pub(crate) async fn add_test_call(
        &self,
        call: TestCall,
        since: Millis,
    ) -> Result<Uuid, StoreError> {
        let old = sqlx::query("DELETE FROM test_calls WHERE at <= $1").bind(signed(since));
        self.run(self.writer.change(old)).await?;
        let id = Uuid::new_v4();
        let insert = sqlx::query(
            "INSERT INTO test_calls (id, at, tokens, cost_usd) VALUES ($1, $2, $3, $4)",
        )
        .bind(id.to_string())
        .bind(signed(call.at))
        .bind(signed(call.tokens))
        .bind(call.cost.map(Money::dollars));
        self.run(self.writer.change(insert)).await?;
        Ok(id)
    }

    /// Replaces what a call can use by what it has used.
    pub(crate) async fn end_test_call(
        &self,
        id: Uuid,
        tokens: u64,
        cost: Option<Money>,
    ) -> Result<(), StoreError> {
        let update = sqlx::query("UPDATE test_calls SET tokens = $2, cost_usd = $3 WHERE id = $1")
            .bind(id.to_string())
            .bind(signed(tokens))
            .bind(cost.map(Money::dollars));
        self.run(self.writer.change(update)).await.map(drop)
    }
}

#[cfg(test)]
#[path = "test_calls_tests.rs"]
mod tests;
