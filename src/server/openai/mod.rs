//! An OpenAI-compatible API (B-03): a debate is a model.
//!
//! A request becomes the same `NewDebate` as one to `/api/v1/debates`, with the same checks, limits and owner. The last user
//! message is the question, everything before it quoted context. The words of the seats are sent as reasoning, the debate's answer as
//! content. A client that disconnects stops the debate, unless its preset says otherwise.

mod answer;
mod ask;
mod catalog;
mod chat;
mod conversation;
mod debate;
mod errors;
mod fit;
mod models;
mod narration;
mod respond;
mod responses;
mod side_call;
mod side_job;
mod stream;

pub(super) use chat::{ChatCompletion, ChatRequest};
pub(super) use errors::{ErrorBody, render as render_error};
pub(super) use models::{Model, ModelList};
pub(super) use responses::{ResponseObject, ResponsesRequest};

use super::route_table::ReachRule::{Nothing, Visible};
use super::route_table::{Routes, read, run};

/// Whether errors of this path have OpenAI's shape.
pub(super) fn is_path(path: &str) -> bool {
    path.starts_with("/v1/")
}

pub(super) fn routes() -> Routes {
    Routes::default()
        .get("/v1/models", read(Nothing), models::list)
        .get("/v1/models/{*model}", read(Nothing), models::show)
        .post("/v1/chat/completions", run(Visible), chat::complete)
        .post("/v1/responses", run(Visible), responses::create)
}
