//! The prompt of a turn: a page, and a part of the debate's page.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use roundtable_engine::event::position;
use roundtable_engine::recorded_prompt::RecordedPrompt;
use roundtable_engine::transcript::capital;

use super::super::Frame;
use super::super::routes::{frame, page};
use crate::server::access::Caller;
use crate::server::problem::Problem;
use crate::server::{App, prompts, rest};

#[derive(Template)]
#[template(path = "prompt.html")]
struct Page<'a> {
    frame: Frame,
    id: String,
    question: &'a str,
    who: String,
    schema: String,
    prompt: &'a RecordedPrompt,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path((id, step)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &caller, &id).await?;
    let prompt = prompts::load(&app, &row, &step).await?;
    let view = Page {
        frame: frame("debates", Some(&caller)),
        id: row.id.to_string(),
        question: &row.question,
        who: capital(&position(&prompt.step)),
        schema: serde_json::to_string_pretty(&prompt.schema).unwrap_or_default(),
        prompt: &prompt,
    };
    Ok(page(view.render().unwrap_or_default()))
}
