//! The prompt of a step, over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use roundtable_engine::recorded_prompt::{NoPrompt, RecordedPrompt, steps};
use serde::Deserialize;

use super::access::Caller;
use super::problem::Problem;
use super::{App, rest};
use crate::setup::prompts::prompt_of;
use crate::store::DebateRow;

#[derive(Debug, Deserialize)]
pub(super) struct PromptQuery {
    step: Option<String>,
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<PromptQuery>,
) -> Result<Json<RecordedPrompt>, Problem> {
    let row = rest::find(&app, &caller, &id).await?;
    let step = query.step.unwrap_or_default();
    Ok(Json(load(&app, &row, &step).await?))
}

/// The prompt of a step of this debate, which the caller may see.
pub(super) async fn load(
    app: &App,
    row: &DebateRow,
    step: &str,
) -> Result<RecordedPrompt, Problem> {
    let entries = app.store.entries(row.id).await?;
    let found = prompt_of(&app.context, &entries, step).await?;
    found.map_err(|error| match error {
        NoPrompt::UnknownStep { .. } if step.is_empty() => {
            let known = steps(&entries).join(", ");
            Problem::invalid_at("step", format!("step is required; known: {known}"))
        }
        NoPrompt::UnknownStep { .. } => Problem::not_found(&error.to_string()),
        NoPrompt::Withheld { .. } => conflict("prompt-withheld", &error),
        NoPrompt::Changed { .. } => conflict("prompt-changed", &error),
        NoPrompt::Failed { .. } => conflict("prompt-unavailable", &error),
    })
}

fn conflict(name: &'static str, error: &NoPrompt) -> Problem {
    Problem::new(StatusCode::CONFLICT, name, error.to_string())
}
