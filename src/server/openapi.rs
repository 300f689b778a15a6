//! The OpenAPI 3.1 document of the API.
//!
//! Every schema is generated from the Rust type that is read or sent. Every status of an operation is listed: the fuzz test
//! sends valid and invalid requests generated from this document and checks each response against it.

mod contract;
mod docs_page;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response as HttpResponse};
use roundtable_engine::envelope::Envelope;
use roundtable_engine::event::State;
use roundtable_engine::protocols;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::Health;
use super::learning::Learning;
use super::problem::ProblemBody;
use super::requests::{DecisionRequest, InputRequest, NewDebate, RatingRequest, ResumeRequest};
use super::rest::{DebateDetail, DebateList, DebateStatus, InputReceipt};
use crate::export::Format;

const JSON: &str = "application/json";
const DEBATE: &str = "/api/v1/debates/{id}";

/// Errors of every operation: malformed request, missing token, insufficient scope, unknown host, rate limit, internal error,
/// unavailable store.
const COMMON_ERRORS: [u16; 7] = [400, 401, 403, 421, 429, 500, 503];
/// Errors of an operation on a debate that reads a body.
const BODY_ERRORS: &[u16] = &[404, 408, 409, 413, 415, 422];

struct Operation {
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    parameters: Vec<Value>,
    body: Option<Body>,
    responses: Vec<Response>,
    /// Statuses in addition to [`COMMON_ERRORS`].
    errors: &'static [u16],
}

struct Body {
    schema: Value,
    is_required: bool,
}

struct Response {
    status: u16,
    description: &'static str,
    /// Media type and schema.
    content: Option<(&'static str, Value)>,
}

impl Response {
    fn json(status: u16, description: &'static str, schema: Value) -> Self {
        Self {
            status,
            description,
            content: Some((JSON, schema)),
        }
    }

    fn empty(status: u16, description: &'static str) -> Self {
        Self {
            status,
            description,
            content: None,
        }
    }
}

impl Operation {
    fn get(path: &'static str, id: &'static str, summary: &'static str, schema: Value) -> Self {
        Self {
            method: "get",
            path,
            id,
            summary,
            parameters: if path.contains("{id}") {
                vec![id_parameter()]
            } else {
                Vec::new()
            },
            body: None,
            responses: vec![Response::json(200, "OK", schema)],
            errors: &[],
        }
    }

    fn post(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        body: Option<Body>,
        response: Response,
    ) -> Self {
        Self {
            method: "post",
            body,
            responses: vec![response],
            errors: BODY_ERRORS,
            ..Self::get(path, id, summary, Value::Null)
        }
    }
}

/// Collects the schemas of request and response types. A type can have different schemas for the two: a field with a default
/// is optional in a request and always present in a response.
struct Schemas {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self {
            requests: settings.clone().into_generator(),
            responses: settings.for_serialize().into_generator(),
        }
    }

    fn required<T: JsonSchema>(&mut self) -> Option<Body> {
        Some(Body {
            schema: self.requests.subschema_for::<T>().to_value(),
            is_required: true,
        })
    }

    fn optional<T: JsonSchema>(&mut self) -> Option<Body> {
        self.required::<T>().map(|body| Body {
            is_required: false,
            ..body
        })
    }

    fn response<T: JsonSchema>(&mut self) -> Value {
        self.responses.subschema_for::<T>().to_value()
    }

    /// The named schemas of requests and of responses.
    fn into_definitions(mut self) -> [Map<String, Value>; 2] {
        [
            self.requests.take_definitions(true),
            self.responses.take_definitions(true),
        ]
    }
}

pub(super) fn document() -> Value {
    let mut schemas = Schemas::new();
    let problem = schemas.response::<ProblemBody>();
    let mut paths = Map::new();
    for operation in operations(&mut schemas) {
        let path = paths
            .entry(operation.path)
            .or_insert_with(|| json!({}))
            .as_object_mut();
        if let Some(path) = path {
            let method = operation.method.to_owned();
            path.insert(method, describe(operation, &problem));
        }
    }
    let components: Map<String, Value> = schemas.into_definitions().into_iter().flatten().collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Roundtable",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A panel of language models debates a question before you rely on the answer.",
            "description": "Start a debate, follow its events, take part in it, and get its answer. Every error is `application/problem+json`. If the server has service tokens, send one as `Authorization: Bearer …`. The scope `read` allows reading, `run` starting debates and taking part in them, `admin` deleting them."
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
    all.push(Operation::get(
        "/api/v1/learning",
        "learning",
        "Get the lessons learned from post-mortems, with their history",
        schemas.response::<Learning>(),
    ));
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
        errors: &[408, 413, 415, 422],
        ..Operation::post(
            "/api/v1/debates",
            "createDebate",
            "Start a debate",
            schemas.required::<NewDebate>(),
            Response::empty(202, ""),
        )
    }
}

fn list(schemas: &mut Schemas) -> Operation {
    let states = State::ALL.map(State::name);
    let text = json!({ "type": "string" });
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
                "Only debates with this text in the question.",
                &text,
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
                content: Some(("text/event-stream", schemas.response::<Envelope>())),
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
            schemas.required::<InputRequest>(),
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
            schemas.required::<DecisionRequest>(),
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
            schemas.optional::<ResumeRequest>(),
            accepted(),
        ),
        Operation::post(
            "/api/v1/debates/{id}/rating",
            "rateDebate",
            "Rate the answer",
            schemas.required::<RatingRequest>(),
            Response::empty(204, "The rating was recorded"),
        ),
    ]
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
            content: Some(("*/*", json!({ "type": "string" }))),
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

fn describe(operation: Operation, problem: &Value) -> Value {
    let mut responses = Map::new();
    for response in operation.responses {
        let mut described = json!({ "description": response.description });
        if let Some((media_type, schema)) = response.content {
            described["content"] = json!({ media_type: { "schema": schema } });
        }
        responses.insert(response.status.to_string(), described);
    }
    for status in operation.errors.iter().chain(&COMMON_ERRORS) {
        let reason = StatusCode::from_u16(*status).ok();
        let reason = reason.and_then(|status| status.canonical_reason());
        responses.insert(
            status.to_string(),
            json!({
                "description": reason.unwrap_or("Error"),
                "content": { "application/problem+json": { "schema": problem } }
            }),
        );
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": operation.parameters,
        "responses": responses,
    });
    if let Some(body) = operation.body {
        described["requestBody"] = json!({
            "required": body.is_required,
            "content": { JSON: { "schema": body.schema } }
        });
    }
    described
}

fn parameter(place: &str, name: &str, description: &str, schema: &Value) -> Value {
    json!({ "in": place, "name": name, "description": description, "required": place == "path", "schema": schema })
}

fn query(name: &str, description: &str, schema: &Value) -> Value {
    parameter("query", name, description, schema)
}

fn header_parameter(name: &str, description: &str, schema: &Value) -> Value {
    parameter("header", name, description, schema)
}

fn idempotency_key() -> Value {
    header_parameter(
        "Idempotency-Key",
        "Requests with the same key and content create one debate.",
        &json!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$" }),
    )
}

fn id_parameter() -> Value {
    let schema = json!({ "type": "string", "format": "uuid" });
    parameter("path", "id", "The debate's id.", &schema)
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
