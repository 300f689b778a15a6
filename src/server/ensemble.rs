//! The ensemble of several forecasting engines over HTTP (F-22).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use roundtable_engine::protocols::forecast::{Ensemble, EnsembleRequest, ensemble};

use super::App;
use super::access::Caller;
use super::problem::Problem;
use super::reasoning;
use super::requests::Sent;
use crate::clock;
use crate::failure::Fault;

/// Combines the engines. A forecast is named by its id; others than the caller's own are not found for a token with reach `own`.
pub(super) async fn combine(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    sent: Sent<EnsembleRequest>,
) -> Result<Json<Ensemble>, Problem> {
    let mut request = sent.content;
    for (index, engine) in request.engines.iter_mut().enumerate() {
        if let Some(id) = &engine.debate_id {
            let at = format!("/engines/{index}/debate_id");
            let result = reasoning::finished(&app, &caller, id).await;
            let result = result.map_err(|problem| Problem::invalid_at(&at, problem.detail()))?;
            engine.take_from(&result);
        }
    }
    let scored = (app.context.forecasts)
        .scored(&app.store, caller.only(), clock::now())
        .await?;
    let combined = ensemble(&request, &scored).map_err(|faults| {
        let faults = faults.into_iter();
        Problem::invalid(
            faults
                .map(|fault| Fault::new(&fault.at, fault.problem))
                .collect(),
        )
    })?;
    Ok(Json(combined))
}
