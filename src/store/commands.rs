//! Commands that a server sends to the process that runs a debate, and their outcomes. Stored in the table `orders`.
//!
//! A command expires when its sender stops waiting. It is then not executed, even if the sender could not withdraw it.

use std::time::Duration;

use roundtable_engine::event::State;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::dialect::server_now;
use super::errors::{Failure, StoreError};
use super::location::Location;
use super::row::parse_id;
use super::{Store, signed, to_json};

/// How long a command may wait to be executed.
pub(crate) const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Command {
    Say { text: String, by: Option<String> },
    Pause,
    Continue,
    Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommandOutcome {
    /// The number of the user's input.
    Heard(u32),
    Done(State),
    Refused(State, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingCommand {
    pub id: Uuid,
    pub debate: Uuid,
    pub command: Command,
}

impl Store {
    /// Only on a server. Also deletes expired commands.
    pub(crate) async fn send_command(
        &self,
        debate: Uuid,
        command: &Command,
    ) -> Result<Uuid, StoreError> {
        let id = Uuid::new_v4();
        let timeout = u64::try_from(COMMAND_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        let inserted = async {
            sqlx::query(concat!(
                "DELETE FROM orders WHERE expires_at < ",
                server_now!()
            ))
            .execute(&self.reader)
            .await?;
            sqlx::query(concat!(
                "INSERT INTO orders (id, debate_id, wish, expires_at) VALUES ($1, $2, $3, ",
                server_now!(),
                " + $4)"
            ))
            .bind(id.to_string())
            .bind(debate.to_string())
            .bind(to_json(command)?)
            .bind(signed(timeout))
            .execute(&self.reader)
            .await?;
            Ok(())
        };
        self.run(inserted).await?;
        self.notify_commands().await?;
        Ok(id)
    }

    /// `None` until the command is answered.
    pub(crate) async fn command_outcome(
        &self,
        command: Uuid,
    ) -> Result<Option<CommandOutcome>, StoreError> {
        let query = sqlx::query("SELECT answer FROM orders WHERE id = $1 AND answer <> ''")
            .bind(command.to_string());
        let read = |row: &AnyRow| from_json(row.try_get("answer")?);
        self.read_optional(query, read).await
    }

    /// Deletes a command whose sender no longer waits for the outcome.
    pub(crate) async fn withdraw_command(&self, command: Uuid) -> Result<(), StoreError> {
        let deleted = sqlx::query("DELETE FROM orders WHERE id = $1")
            .bind(command.to_string())
            .execute(&self.reader)
            .await;
        deleted.map(drop).map_err(|error| self.failed(error))
    }

    /// The pending commands for debates that this process owns. Each is returned once.
    pub(crate) async fn take_commands(&self) -> Result<Vec<PendingCommand>, StoreError> {
        let Location::Server(server) = &*self.location else {
            return Ok(Vec::new());
        };
        let owner = self.run(server.ownership.owner()).await?;
        let query = sqlx::query(concat!(
            "UPDATE orders SET answer = '' FROM debates \
             WHERE orders.answer IS NULL AND debates.id = orders.debate_id AND debates.owner = $1 \
             AND orders.expires_at > ",
            server_now!(),
            " RETURNING orders.id, orders.debate_id, orders.wish"
        ))
        .bind(owner.id().to_owned());
        let read = |row: &AnyRow| {
            Ok(PendingCommand {
                id: parse_id(row.try_get("id")?)?,
                debate: parse_id(row.try_get("debate_id")?)?,
                command: from_json(row.try_get("wish")?)?,
            })
        };
        self.read_all(query, read).await
    }

    pub(crate) async fn answer_command(
        &self,
        command: Uuid,
        outcome: &CommandOutcome,
    ) -> Result<(), StoreError> {
        let answered = async {
            sqlx::query("UPDATE orders SET answer = $2 WHERE id = $1")
                .bind(command.to_string())
                .bind(to_json(outcome)?)
                .execute(&self.reader)
                .await?;
            Ok(())
        };
        self.run(answered).await
    }
}

fn from_json<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::unreadable(format!("a command: {error}")))
}
