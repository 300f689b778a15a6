//! `/v1/models`

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::App;
use super::super::problem::Problem;
use super::catalog::{self, Choice};

/// The models of this server.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::server) struct ModelList {
    object: &'static str,
    data: Vec<Model>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Model {
    id: String,
    object: &'static str,
    /// Unix time. A debate as a model has no date of its own: always the same.
    created: u64,
    owned_by: &'static str,
    /// The result for the caller.
    description: String,
}

/// 2026-01-01
const CREATED: u64 = 1_767_225_600;

impl From<Choice> for Model {
    fn from(choice: Choice) -> Self {
        Self {
            id: choice.id,
            object: "model",
            created: CREATED,
            owned_by: "roundtable",
            description: choice.summary,
        }
    }
}

pub(super) async fn list(State(app): State<Arc<App>>) -> Json<ModelList> {
    let all = catalog::all(&app.context.data);
    Json(ModelList {
        object: "list",
        data: all.into_values().map(Model::from).collect(),
    })
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
) -> Result<Json<Model>, Problem> {
    Ok(Json(catalog::find(&app.context.data, &model)?.into()))
}
