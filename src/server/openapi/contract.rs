//! The operations of the forecasting contract (F-16).

use roundtable_engine::protocols::forecast::{
    Calibration, DebateResult, Ensemble, EnsembleRequest,
};
use serde_json::{Value, json};

use super::operation::{
    Operation, Response, Schemas, header_parameter, id_parameter, idempotency_key, parameter,
};
use crate::server::reasoning::{ForecastArguments, ForecastConsensus, ForecastRound, Pending};
use crate::server::requests::{DebateRequest, ResolutionRequest};

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let pending = schemas.response::<Pending>();
    let result = schemas.response::<DebateResult>();
    let read = |path, id, summary, more: Option<Value>, schema: Value| Operation {
        parameters: [id_parameter()].into_iter().chain(more).collect(),
        responses: vec![
            Response::json(200, "OK", schema),
            Response::json(202, "The debate is still running", pending.clone()),
        ],
        errors: &[404, 409, 502],
        ..Operation::get(path, id, summary, Value::Null)
    };
    let number = json!({ "type": "integer", "minimum": 1 });
    let text = json!({ "type": "string" });
    vec![
        Operation {
            parameters: vec![
                idempotency_key(),
                header_parameter(
                    "Prefer",
                    "`respond-async` responds at once with 202 and the location of the debate.",
                    &json!({ "type": "string", "examples": ["respond-async"] }),
                ),
            ],
            responses: vec![
                Response::json(200, "The result, which may be partial", result.clone()),
                Response::json(202, "The debate was created", pending.clone()),
            ],
            errors: &[408, 409, 413, 415, 422, 502, 504],
            ..Operation::post(
                "/api/v1/reasoning/debate",
                "forecast",
                "Forecast the probabilities of outcomes",
                Some(schemas.required::<DebateRequest>()),
                Response::empty(202, ""),
            )
        },
        read(
            "/api/v1/reasoning/debate/{id}",
            "showForecast",
            "Get the result of a forecast",
            None,
            result,
        ),
        read(
            "/api/v1/reasoning/debate/{id}/round/{number}",
            "showRound",
            "Get one round of a forecast",
            Some(parameter("path", "number", "The round, from 1.", &number)),
            schemas.response::<ForecastRound>(),
        ),
        read(
            "/api/v1/reasoning/debate/{id}/role/{name}",
            "showRole",
            "Get all arguments of one role",
            Some(parameter("path", "name", "The role's name.", &text)),
            schemas.response::<ForecastArguments>(),
        ),
        read(
            "/api/v1/reasoning/debate/{id}/consensus",
            "showConsensus",
            "Get the probabilities and where the roles disagree",
            None,
            schemas.response::<ForecastConsensus>(),
        ),
        Operation::post(
            "/api/v1/reasoning/debate/{id}/resolution",
            "resolveForecast",
            "Record the outcome that happened",
            Some(schemas.required::<ResolutionRequest>()),
            Response::empty(204, "The outcome was recorded"),
        ),
        Operation::post(
            "/api/v1/reasoning/ensemble",
            "combineForecasts",
            "Combine the probabilities of several forecasting engines",
            Some(schemas.required::<EnsembleRequest>()),
            Response::json(
                200,
                "The combined probabilities",
                schemas.response::<Ensemble>(),
            ),
        ),
        Operation::get(
            "/api/v1/reasoning/calibration",
            "calibration",
            "Get the accuracy of resolved forecasts",
            schemas.response::<Calibration>(),
        ),
    ]
}
