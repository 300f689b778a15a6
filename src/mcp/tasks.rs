//! Debates as tasks, for clients that declare the extension: the id of the debate is the id of the task. A debate is in the store
//! before it is announced.

use rmcp::model::{
    CreateTaskResult, DetailedTask, GetTaskResult, JsonObject, Task, TaskPayload, TaskStatus,
};
use roundtable_engine::event::State;
use roundtable_engine::table::open_question;
use serde_json::json;

use super::decisions;
use super::service::{ToolError, outcome};
use crate::clock;
use crate::server::operations::Operations;
use crate::store::DebateRow;

/// How often a client should ask.
const POLL_INTERVAL_MS: u64 = 2_000;

fn task(row: &DebateRow) -> Task {
    let (created, updated) = (clock::stamp(row.created_at), clock::stamp(row.updated_at));
    Task::new(row.id.to_string(), TaskStatus::Working, created, updated)
        .with_poll_interval_ms(POLL_INTERVAL_MS)
}

pub(super) fn created(row: &DebateRow) -> CreateTaskResult {
    CreateTaskResult::new(task(row))
}

pub(super) async fn get(operations: &Operations, id: &str) -> Result<GetTaskResult, ToolError> {
    let mut row = operations.find(id).await?;
    operations.know(row.id).await?;
    if row.is_served && row.ended_at.is_none() && operations.take_up(&row).await? {
        row = operations.find(id).await?;
    }
    let outcome = outcome(operations, row.id).await?;
    let payload = match row.state {
        State::Queued | State::Running => TaskPayload::Working,
        State::Cancelled => TaskPayload::Cancelled,
        State::Waiting => {
            let entries = operations.entries(row.id).await?;
            let requests = open_question(&entries).and_then(decisions::requests);
            TaskPayload::InputRequired {
                input_requests: requests.unwrap_or_default(),
            }
        }
        State::Complete | State::Partial | State::Failed | State::Interrupted => {
            let result = json!(outcome.result());
            let result: JsonObject = result.as_object().cloned().unwrap_or_default();
            TaskPayload::Completed { result }
        }
    };
    let task = task(&row).with_status_message(outcome.summary());
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}
