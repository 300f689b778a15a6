//! The OpenAPI 3.1 document of the API.
//!
//! Every schema is generated from the Rust type that is read or sent. Every status of an operation is listed: the fuzz test
//! sends valid and invalid requests generated from this document and checks each response against it.

mod administration;
mod contract;
mod docs_page;
mod openai;
mod operation;
mod shares;

use axum::Json;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response as HttpResponse};
use roundtable_engine::envelope::Envelope;
use roundtable_engine::event::State;
use roundtable_engine::protocols;
use roundtable_engine::recorded_prompt::RecordedPrompt;
use serde_json::{Map, Value, json};

use operation::{
    Operation, Response, Schemas, describe, header_parameter, id_parameter, idempotency_key, query,
};

use super::Health;
use super::learning::Learning;
use super::problem::ProblemBody;
use super::requests::{DecisionRequest, InputRequest, NewDebate, RatingRequest, ResumeRequest};
use super::rest::{DebateDetail, DebateList, DebateStatus, InputReceipt};
use crate::export::Format;
use crate::setup::estimate::DebateEstimate;
use crate::store::MAX_SEARCH_CHARS;

const JSON: &str = "application/json";
const DEBATE: &str = "/api/v1/debates/{id}";

pub(super) fn document() -> Value {
    let mut schemas = Schemas::new();
    let problem = (
        "application/problem+json",
        schemas.response::<ProblemBody>(),
    );
    let openai_error = (JSON, openai::error(&mut schemas));
    let mut paths = Map::new();
    for operation in operations(&mut schemas) {
        let path = paths
            .entry(operation.path)
            .or_insert_with(|| json!({}))
            .as_object_mut();
        if let Some(path) = path {
            let method = operation.method.to_owned();
            let error = if openai::has_own_errors(operation.path) {
                &openai_error
            } else {
                &problem
            };
            path.insert(method, describe(operation, error));
        }
    }
    let components: Map<String, Value> = schemas.into_definitions().into_iter().flatten().collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Roundtable",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A panel of language models debates a question before you rely on the answer.",
            "description": "Start a debate, follow its events, take part in it, and get its answer. Every error is `application/problem+json`, except below `/v1/`, where a debate is a model for clients of OpenAI's API. If the server has service tokens, send one as `Authorization: Bearer …`. The scope `read` allows reading, `run` starting debates and taking part in them, `admin` deleting them and managing tokens. A token with the reach `own` sees and changes only debates that it has created; any other is not found."
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } }
        },
        "security": [{}, { "token": [] }]
    })
}

fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut all = vec![
        create(schemas),
        Operation {
            errors: &[404, 408, 409, 413, 415, 422],
            ..Operation::post(
                "/api/v1/debates/estimate",
                "estimateDebate",
                "Estimate the calls, tokens, cost and time of a debate without starting it",
                Some(schemas.required::<NewDebate>()),
                Response::json(200, "OK", schemas.response::<DebateEstimate>()),
            )
        },
        list(schemas),
        Operation {
            errors: &[404],
            ..Operation::get(
                DEBATE,
                "showDebate",
                "Get a debate with its report",
                schemas.response::<DebateDetail>(),
            )
        },
        events(schemas),
    ];
    all.extend(participation(schemas));
    all.push(export());
    all.push(prompt(schemas));
    all.extend(shares::operations(schemas));
    all.push(Operation {
        method: "delete",
        responses: vec![Response::empty(204, "The debate was deleted")],
        errors: &[404, 409],
        ..Operation::get(
            DEBATE,
            "deleteDebate",
            "Delete a debate with its journal",
            Value::Null,
        )
    });
    all.extend(contract::operations(schemas));
    all.extend(openai::operations(schemas));
    all.push(Operation::get(
        "/api/v1/learning",
        "learning",
        "Get the lessons learned from post-mortems, with their history",
        schemas.response::<Learning>(),
    ));
    all.extend(administration::operations(schemas));
    all.extend(server_status(schemas));
    all
}

fn create(schemas: &mut Schemas) -> Operation {
    Operation {
        parameters: vec![
            idempotency_key(),
            header_parameter(
                "Prefer",
                "`wait=N` waits up to N seconds for the result.",
                &json!({ "type": "string", "examples": ["wait=60"] }),
            ),
        ],
        responses: vec![
            Response::json(
                200,
                "The debate ended within the time to wait",
                schemas.response::<DebateDetail>(),
            ),
            Response::json(
                202,
                "The debate was created; it runs or is queued",
                schemas.response::<DebateStatus>(),
            ),
        ],
        errors: &[404, 408, 409, 413, 415, 422],
        ..Operation::post(
            "/api/v1/debates",
            "createDebate",
            "Start a debate",
            Some(schemas.required::<NewDebate>()),
            Response::empty(202, ""),
        )
    }
}

fn list(schemas: &mut Schemas) -> Operation {
    let states = State::ALL.map(State::name);
    Operation {
        parameters: vec![
            query(
                "protocol",
                "Only debates of this protocol.",
                &json!({ "type": "string", "examples": protocols::names() }),
            ),
            query(
                "state",
                "Only debates in this state.",
                &json!({ "type": "string", "enum": states }),
            ),
            query(
                "search",
                "Only debates with this text in the first 10,000 characters of the question.",
                &json!({ "type": "string", "maxLength": MAX_SEARCH_CHARS }),
            ),
            query(
                "since",
                "Only debates created at this time or later (RFC 3339, or a date).",
                &time(),
            ),
            query("until", "Only debates created before this time.", &time()),
            query(
                "cursor",
                "`next` of the previous page.",
                &json!({ "type": "string", "pattern": "^[0-9]{1,15}\\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$" }),
            ),
            query(
                "limit",
                "The number of debates on a page.",
                &json!({ "type": "integer", "minimum": 1, "maximum": 500, "default": 50 }),
            ),
        ],
        errors: &[422],
        ..Operation::get(
            "/api/v1/debates",
            "listDebates",
            "List debates, newest first",
            schemas.response::<DebateList>(),
        )
    }
}

fn events(schemas: &mut Schemas) -> Operation {
    let id = json!({ "type": "string", "pattern": "^[0-9]{1,15}$", "examples": ["12", "12~r3/skeptic/review:0:340:9ae16a3b"] });
    Operation {
        parameters: vec![
            id_parameter(),
            query("after", "Only events after the one with this id.", &id),
            header_parameter(
                "Last-Event-ID",
                "The same, as browsers send it when they reconnect.",
                &id,
            ),
        ],
        responses: vec![
            Response {
                status: 200,
                description: "Each event has an id, a name by role (`round_start`, `proposer_start`, `proposer_chunk`, `proposer_end`, `synthesis_chunk`, `complete`, …) and an envelope. The chunks of a turn, joined, are its text; `…_restart` discards the chunks before it.",
                content: vec![("text/event-stream", schemas.response::<Envelope>())],
            },
            Response::empty(204, "The debate is over and there are no more events"),
        ],
        errors: &[404, 422],
        ..Operation::get(
            "/api/v1/debates/{id}/events",
            "followDebate",
            "Stream past and new events as server-sent events",
            Value::Null,
        )
    }
}

fn participation(schemas: &mut Schemas) -> Vec<Operation> {
    let status = schemas.response::<DebateStatus>();
    let accepted = || Response::json(202, "Accepted; the current state", status.clone());
    vec![
        Operation::post(
            "/api/v1/debates/{id}/input",
            "speak",
            "Send a message; the seats read it from the next round on",
            Some(schemas.required::<InputRequest>()),
            Response::json(
                202,
                "The message was recorded",
                schemas.response::<InputReceipt>(),
            ),
        ),
        Operation::post(
            "/api/v1/debates/{id}/decision",
            "decide",
            "Make the decision that a debate waits for",
            Some(schemas.required::<DecisionRequest>()),
            accepted(),
        ),
        Operation {
            errors: &[404, 409],
            ..Operation::post(
                "/api/v1/debates/{id}/pause",
                "pauseDebate",
                "Pause a debate before its next round",
                None,
                accepted(),
            )
        },
        Operation {
            errors: &[404, 409],
            ..Operation::post(
                "/api/v1/debates/{id}/cancel",
                "cancelDebate",
                "Cancel a debate; its journal is kept",
                None,
                accepted(),
            )
        },
        Operation::post(
            "/api/v1/debates/{id}/resume",
            "resumeDebate",
            "Resume a debate that is paused, cancelled, partial or failed",
            Some(schemas.optional::<ResumeRequest>()),
            accepted(),
        ),
        Operation::post(
            "/api/v1/debates/{id}/rating",
            "rateDebate",
            "Rate the answer",
            Some(schemas.required::<RatingRequest>()),
            Response::empty(204, "The rating was recorded"),
        ),
    ]
}

fn prompt(schemas: &mut Schemas) -> Operation {
    Operation {
        parameters: vec![
            id_parameter(),
            query(
                "step",
                "The step, as in `events` and on the page of the debate.",
                &json!({ "type": "string", "examples": ["r1/skeptic/criticise"] }),
            ),
        ],
        errors: &[404, 409, 422],
        ..Operation::get(
            "/api/v1/debates/{id}/prompt",
            "showPrompt",
            "Show the exact prompt that a seat received",
            schemas.response::<RecordedPrompt>(),
        )
    }
}

fn export() -> Operation {
    Operation {
        parameters: vec![
            id_parameter(),
            query(
                "format",
                "The file format. jsonl is training data: one chat per line.",
                &json!({ "type": "string", "enum": Format::names(), "default": Format::Json.name() }),
            ),
        ],
        responses: vec![Response {
            status: 200,
            description: "The file",
            content: Format::ALL.map(exported).to_vec(),
        }],
        errors: &[404, 409, 422],
        ..Operation::get(
            "/api/v1/debates/{id}/export",
            "exportDebate",
            "Export a debate",
            Value::Null,
        )
    }
}

/// The media type of a format, without its parameters, and the schema of what it contains.
fn exported(format: Format) -> (&'static str, Value) {
    let media_type = format.content_type().split(';').next();
    let kind = match format {
        // Each line of jsonl is an object, but the document as a whole is text.
        Format::Json => "object",
        Format::Yaml | Format::Md | Format::Html | Format::Jsonl => "string",
    };
    (media_type.unwrap_or_default(), json!({ "type": kind }))
}

fn server_status(schemas: &mut Schemas) -> Vec<Operation> {
    let health = schemas.response::<Health>();
    vec![
        Operation::get("/healthz", "health", "Liveness check", health.clone()),
        Operation::get("/readyz", "readiness", "Readiness check", health),
        Operation::get(
            "/api/openapi.json",
            "document",
            "Get this document",
            json!({ "type": "object" }),
        ),
    ]
}

fn time() -> Value {
    json!({ "type": "string", "pattern": "^20[0-9]{2}-0[1-9]-[01][1-9](T00:00:00Z)?$", "examples": ["2026-03-01", "2026-03-01T12:00:00Z"] })
}

pub(super) async fn as_json() -> Json<Value> {
    Json(document())
}

pub(super) async fn as_page() -> Html<String> {
    Html(docs_page::page(&document()))
}

pub(super) async fn style() -> HttpResponse {
    const STYLE: &str = include_str!("openapi.css");
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
