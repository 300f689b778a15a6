//! The forecasting contract's operations (F-16) in the document.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::{Operation, Presence, header_parameter, id, json_of, parameter, reference};
use crate::server::requests::{DebateRequest, ResolutionRequest};

pub(super) fn operations(generator: &mut SchemaGenerator) -> Vec<Operation> {
    const BODY: &[u16] = &[400, 404, 408, 409, 413, 415, 422];
    let read = |path, id_, summary, more: Vec<Value>, schema: &str| Operation {
        parameters: [vec![id()], more].concat(),
        answers: vec![
            (200, "As asked.", Some(json_of(schema))),
            (202, "The debate still runs.", Some(json_of("Pending"))),
        ],
        errors: &[404, 409, 502],
        ..super::get(path, id_, summary, reference(schema))
    };
    let text = || json!({ "type": "string" });
    vec![
        Operation {
            method: "post",
            path: "/api/v1/reasoning/debate",
            id: "forecast",
            summary: "Forecast: five roles argue, and a distribution comes out",
            parameters: vec![
                header_parameter(
                    "Idempotency-Key",
                    "The same key with the same content gives the same debate, however often it is sent.",
                    json!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$" }),
                ),
                header_parameter(
                    "Prefer",
                    "`respond-async` gives 202 and the debate's address at once.",
                    json!({ "type": "string", "examples": ["respond-async"] }),
                ),
            ],
            body: Some((
                generator.subschema_for::<DebateRequest>().to_value(),
                Presence::Required,
            )),
            answers: vec![
                (
                    200,
                    "The result, which may be partial.",
                    Some(json_of("DebateResult")),
                ),
                (202, "It runs.", Some(json_of("Pending"))),
            ],
            errors: &[400, 408, 409, 413, 415, 422, 502, 503, 504],
        },
        read(
            "/api/v1/reasoning/debate/{id}",
            "showForecast",
            "The result of a forecast",
            Vec::new(),
            "DebateResult",
        ),
        read(
            "/api/v1/reasoning/debate/{id}/round/{number}",
            "showRound",
            "One round of it",
            vec![parameter(
                "path",
                "number",
                "From 1.",
                &json!({ "type": "integer", "minimum": 1 }),
            )],
            "ForecastRound",
        ),
        read(
            "/api/v1/reasoning/debate/{id}/role/{name}",
            "showRole",
            "All arguments of one role",
            vec![parameter("path", "name", "The role's name.", &text())],
            "ForecastArguments",
        ),
        read(
            "/api/v1/reasoning/debate/{id}/consensus",
            "showConsensus",
            "How far the roles agree, and on what",
            Vec::new(),
            "ForecastConsensus",
        ),
        Operation {
            method: "post",
            path: "/api/v1/reasoning/debate/{id}/resolution",
            id: "resolveForecast",
            summary: "Say what happened",
            parameters: vec![id()],
            body: Some((
                generator.subschema_for::<ResolutionRequest>().to_value(),
                Presence::Required,
            )),
            answers: vec![(204, "It is in the journal.", None)],
            errors: BODY,
        },
        super::get(
            "/api/v1/reasoning/calibration",
            "calibration",
            "How good the forecasts were",
            reference("Calibration"),
        ),
    ]
}

pub(super) fn answers() -> Map<String, Value> {
    let list = || json!({ "type": "array", "items": { "type": "object" } });
    let share = || json!({ "type": ["number", "null"], "minimum": 0, "maximum": 1 });
    let object = |fields: Value| {
        let names: Vec<String> = fields
            .as_object()
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default();
        json!({ "type": "object", "properties": fields, "required": names })
    };
    let text = json!({ "type": "string" });
    let all = json!({
        "Pending": object(json!({ "debate_id": text, "state": text })),
        "DebateResult": object(json!({
            "debate_id": text, "task_id": text, "completed_at": { "type": ["string", "null"] },
            "debate_log": object(json!({ "rounds": list() })),
            "consensus_score": share(), "disagreement_map": list(), "probability_distribution": list(),
            "key_insights": list(), "historical_precedents": list(), "metadata": { "type": "object" },
            "roundtable": { "type": "object", "description": "Everything that is not of the contract." },
        })),
        "ForecastRound": object(json!({ "round": { "type": "object" } })),
        "ForecastArguments": object(json!({ "arguments": list() })),
        "ForecastConsensus": object(json!({
            "consensus_score": share(), "probability_distribution": list(), "disagreement_map": list(),
        })),
        "Calibration": object(json!({
            "questions": { "type": "integer", "minimum": 0 }, "records": list(), "reliability": list(),
            "standings": { "type": "object" }, "debates": list(),
        })),
        "Learning": object(json!({
            "half_life_days": { "type": "number", "minimum": 1 }, "domains": list(), "history": list(),
        })),
    });
    if let Value::Object(all) = all {
        all
    } else {
        Map::new()
    }
}
