//! Sets of questions and their forecasts.

use roundtable_core::usage::Money;
use roundtable_engine::event::State;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use super::errors::{Failure, StoreError};
use super::row::parse_id;
use super::{Store, signed, unsigned};

/// A question of a set, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredQuestion {
    pub id: String,
    pub place: u64,
    pub body: String,
}

/// What an import changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ImportCounts {
    pub added: u64,
    pub changed: u64,
    pub unchanged: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuestionSet {
    pub name: String,
    pub questions: u64,
    /// Questions with a forecast that has ended.
    pub forecast: u64,
}

/// A forecast of a question. `state` is `None` if its debate does not exist: not created yet, or deleted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuestionForecast {
    pub number: u64,
    pub debate: Uuid,
    pub state: Option<State>,
    pub cost: Option<Money>,
}

impl Store {
    /// Adds questions to a set, and replaces those whose content differs, in one transaction.
    pub(crate) async fn import_questions(
        &self,
        set: &str,
        questions: &[(String, String)],
    ) -> Result<ImportCounts, StoreError> {
        let imported = async {
            let mut transaction = self.writer.begin().await?;
            let imported = import(transaction.connection(), set, questions).await;
            transaction.finish(imported).await
        };
        self.run(imported).await
    }

    /// By name.
    pub(crate) async fn question_sets(&self) -> Result<Vec<QuestionSet>, StoreError> {
        let query = sqlx::query(
            "SELECT set_name, COUNT(*) AS questions, (SELECT COUNT(DISTINCT question_id) FROM question_forecasts \
             JOIN debates ON debates.id = debate_id WHERE question_forecasts.set_name = questions.set_name \
             AND debates.state IN ('complete', 'partial')) AS forecast FROM questions GROUP BY set_name ORDER BY set_name",
        );
        let read = |row: &AnyRow| {
            Ok(QuestionSet {
                name: row.try_get("set_name")?,
                questions: unsigned(row.try_get("questions")?),
                forecast: unsigned(row.try_get("forecast")?),
            })
        };
        self.read_all(query, read).await
    }

    /// The next questions of a set after a place, in order.
    pub(crate) async fn questions_after(
        &self,
        set: &str,
        place: u64,
        limit: u32,
    ) -> Result<Vec<StoredQuestion>, StoreError> {
        let query = sqlx::query(
            "SELECT id, place, body FROM questions WHERE set_name = $1 AND place > $2 ORDER BY place LIMIT $3",
        )
        .bind(set.to_owned())
        .bind(signed(place))
        .bind(i64::from(limit));
        self.read_all(query, read_question).await
    }

    /// Removes a set. Its debates stay. Returns the number of its questions.
    pub(crate) async fn remove_questions(&self, set: &str) -> Result<u64, StoreError> {
        let forecasts = sqlx::query("DELETE FROM question_forecasts WHERE set_name = $1");
        let questions = sqlx::query("DELETE FROM questions WHERE set_name = $1");
        let removed = async {
            let mut transaction = self.writer.begin().await?;
            let removed = async {
                let forecasts = forecasts.bind(set.to_owned());
                forecasts.execute(transaction.connection()).await?;
                let questions = questions.bind(set.to_owned());
                let done = questions.execute(transaction.connection()).await?;
                Ok(done.rows_affected())
            };
            let removed = removed.await;
            transaction.finish(removed).await
        };
        self.run(removed).await
    }

    /// The forecasts of a question, oldest first.
    pub(crate) async fn forecasts_of(
        &self,
        set: &str,
        question: &str,
    ) -> Result<Vec<QuestionForecast>, StoreError> {
        let query = sqlx::query(
            "SELECT number, debate_id, debates.state AS state, debates.cost_usd AS cost_usd FROM question_forecasts \
             LEFT JOIN debates ON debates.id = debate_id WHERE set_name = $1 AND question_id = $2 ORDER BY number",
        )
        .bind(set.to_owned())
        .bind(question.to_owned());
        self.read_all(query, read_forecast).await
    }

    /// The cost of all forecasts of a set.
    pub(crate) async fn cost_of_set(&self, set: &str) -> Result<Money, StoreError> {
        let query = sqlx::query(
            "SELECT COALESCE(SUM(cost_usd), 0.0) AS cost FROM question_forecasts \
             JOIN debates ON debates.id = debate_id WHERE set_name = $1",
        )
        .bind(set.to_owned());
        let read = |row: &AnyRow| Ok(Money::from_dollars(row.try_get("cost")?));
        let cost = self.read_optional(query, read).await?;
        Ok(cost.flatten().unwrap_or(Money::ZERO))
    }

    /// The id of a question's forecast with this number: the one that was reserved before, or `new`.
    pub(crate) async fn reserve_forecast(
        &self,
        set: &str,
        question: &str,
        number: u64,
        new: Uuid,
    ) -> Result<Uuid, StoreError> {
        let insert = sqlx::query(
            "INSERT INTO question_forecasts (set_name, question_id, number, debate_id) VALUES ($1, $2, $3, $4) \
             ON CONFLICT DO NOTHING",
        )
        .bind(set.to_owned())
        .bind(question.to_owned())
        .bind(signed(number))
        .bind(new.to_string());
        self.run(self.writer.change(insert)).await?;
        let query = sqlx::query(
            "SELECT debate_id FROM question_forecasts WHERE set_name = $1 AND question_id = $2 AND number = $3",
        )
        .bind(set.to_owned())
        .bind(question.to_owned())
        .bind(signed(number));
        let read = |row: &AnyRow| parse_id(row.try_get("debate_id")?);
        let found = self.read_optional(query, read).await?;
        Ok(found.unwrap_or(new))
    }

    /// The set and the question that a debate forecasts.
    pub(crate) async fn question_of(
        &self,
        debate: Uuid,
    ) -> Result<Option<(String, String)>, StoreError> {
        let query = sqlx::query(
            "SELECT set_name, question_id FROM question_forecasts WHERE debate_id = $1",
        )
        .bind(debate.to_string());
        let read = |row: &AnyRow| Ok((row.try_get("set_name")?, row.try_get("question_id")?));
        self.read_optional(query, read).await
    }
}

async fn import(
    connection: &mut AnyConnection,
    set: &str,
    questions: &[(String, String)],
) -> Result<ImportCounts, Failure> {
    let last =
        sqlx::query("SELECT COALESCE(MAX(place), 0) AS last FROM questions WHERE set_name = $1")
            .bind(set.to_owned())
            .fetch_one(&mut *connection)
            .await?;
    let mut place: i64 = last.try_get("last")?;
    let mut counts = ImportCounts::default();
    for (id, body) in questions {
        let update = sqlx::query(
            "UPDATE questions SET body = $3 WHERE set_name = $1 AND id = $2 AND body <> $3",
        )
        .bind(set.to_owned())
        .bind(id.clone())
        .bind(body.clone());
        if update.execute(&mut *connection).await?.rows_affected() > 0 {
            counts.changed += 1;
            continue;
        }
        let insert = sqlx::query(
            "INSERT INTO questions (set_name, id, place, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        )
        .bind(set.to_owned())
        .bind(id.clone())
        .bind(place + 1)
        .bind(body.clone());
        if insert.execute(&mut *connection).await?.rows_affected() > 0 {
            place += 1;
            counts.added += 1;
        } else {
            counts.unchanged += 1;
        }
    }
    Ok(counts)
}

fn read_question(row: &AnyRow) -> Result<StoredQuestion, Failure> {
    Ok(StoredQuestion {
        id: row.try_get("id")?,
        place: unsigned(row.try_get("place")?),
        body: row.try_get("body")?,
    })
}

fn read_forecast(row: &AnyRow) -> Result<QuestionForecast, Failure> {
    let state: Option<String> = row.try_get("state")?;
    let known = |name: &String| State::ALL.into_iter().find(|state| state.name() == name);
    let cost: Option<f64> = row.try_get("cost_usd")?;
    Ok(QuestionForecast {
        number: unsigned(row.try_get("number")?),
        debate: parse_id(row.try_get("debate_id")?)?,
        state: state.as_ref().and_then(known),
        cost: cost.and_then(Money::from_dollars),
    })
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
