//! The API as a document (OpenAPI 3.1), and that document as a page.
//!
//! Schemas of what callers send come from the types that read it. Every answer that an operation can give is listed: a test
//! walks this document, sends good and bad requests, and holds every answer against it.

mod contract;

use std::fmt::Write;

use axum::Json;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use roundtable_engine::event::State;
use roundtable_engine::protocols;

use super::documents::Format;
use super::problem::ProblemBody;
use super::requests::{DecisionRequest, Input, NewDebate, RatingRequest, ResumeRequest};

/// One operation: what it takes and gives.
struct Operation {
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    parameters: Vec<Value>,
    body: Option<(Value, Presence)>,
    answers: Vec<Answer>,
    /// Statuses of errors, beside those that every operation has.
    errors: &'static [u16],
}

/// The status, what it means, and what comes with it.
type Answer = (u16, &'static str, Option<Content>);
/// A media type and the schema of what is of it.
type Content = (&'static str, Value);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}

const JSON: &str = "application/json";

pub(super) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for operation in operations(&mut generator) {
        let described = describe(&operation);
        let path = paths
            .entry(operation.path)
            .or_insert_with(|| json!({}))
            .as_object_mut();
        if let Some(path) = path {
            path.insert(operation.method.to_owned(), described);
        }
    }
    let _ = generator.subschema_for::<ProblemBody>();
    let mut schemas = generator.take_definitions(true);
    schemas.extend(answers());
    schemas.extend(contract::answers());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Roundtable",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A panel of language models argues a question out before you rely on the answer.",
            "description": "Start a debate, follow its events, take part in it, take its answer. Every error is `application/problem+json`. Where the server has service tokens, send one as `Authorization: Bearer …`: the scope `read` is for looking, `run` for starting debates and taking part, `admin` for deleting."
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } }
        },
        "security": [{}, { "token": [] }]
    })
}

fn operations(generator: &mut SchemaGenerator) -> Vec<Operation> {
    let mut all = vec![
        create(generator),
        list(),
        Operation {
            errors: &[404],
            ..get(
                "/api/v1/debates/{id}",
                "showDebate",
                "A debate with all that it has to show",
                reference("DebateDetail"),
            )
        },
        events(),
    ];
    all.extend(taking_part(generator));
    all.push(export());
    all.push(Operation {
        method: "delete",
        path: "/api/v1/debates/{id}",
        id: "deleteDebate",
        summary: "Delete a debate with its journal",
        parameters: vec![id()],
        body: None,
        answers: vec![(204, "It is gone.", None)],
        errors: &[404, 409],
    });
    all.extend(contract::operations(generator));
    all.push(get(
        "/api/v1/learning",
        "learning",
        "What was learned from post-mortems, and every change that led to it",
        reference("Learning"),
    ));
    all.extend(whole_server());
    all
}

fn create(generator: &mut SchemaGenerator) -> Operation {
    Operation {
        method: "post",
        path: "/api/v1/debates",
        id: "createDebate",
        summary: "Start a debate",
        parameters: vec![
            header_parameter(
                "Idempotency-Key",
                "The same key with the same content gives the same debate, however often it is sent.",
                json!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$" }),
            ),
            header_parameter(
                "Prefer",
                "`wait=N` waits up to N seconds for the result.",
                json!({ "type": "string", "examples": ["wait=60"] }),
            ),
        ],
        body: Some((
            generator.subschema_for::<NewDebate>().to_value(),
            Presence::Required,
        )),
        answers: vec![
            (
                200,
                "It was waited for, and is over.",
                Some(json_of("DebateDetail")),
            ),
            (
                202,
                "It runs, or waits for a place.",
                Some(json_of("Standing")),
            ),
        ],
        errors: &[400, 408, 413, 415, 422, 503],
    }
}

fn list() -> Operation {
    let states: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
    let protocols: Vec<&str> = protocols::names();
    let text = || json!({ "type": "string" });
    Operation {
        parameters: vec![
            query(
                "protocol",
                "Only of this protocol.",
                json!({ "type": "string", "examples": protocols }),
            ),
            query(
                "state",
                "Only in this state.",
                json!({ "type": "string", "enum": states }),
            ),
            query("search", "Only with this in the question.", text()),
            query(
                "since",
                "Started at this time or later (RFC 3339, or a date).",
                time(),
            ),
            query("until", "Started before this time.", time()),
            query(
                "cursor",
                "`next` of the page before.",
                json!({ "type": "string", "pattern": "^[0-9]{1,15}\\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$" }),
            ),
            query(
                "limit",
                "How many on a page.",
                json!({ "type": "integer", "minimum": 1, "maximum": 500, "default": 50 }),
            ),
        ],
        errors: &[422],
        ..get(
            "/api/v1/debates",
            "listDebates",
            "Debates, the newest first",
            reference("Listed"),
        )
    }
}

fn events() -> Operation {
    Operation {
        method: "get",
        path: "/api/v1/debates/{id}/events",
        id: "followDebate",
        summary: "What happens, as server-sent events: first what has been, then what comes",
        parameters: vec![
            id(),
            query(
                "after",
                "Only what comes after the event with this id.",
                event_id(),
            ),
            header_parameter("Last-Event-ID", "The same, as browsers say it.", event_id()),
        ],
        body: None,
        answers: vec![
            (
                200,
                "Each event has an id, a name by role (`round_start`, `proposer_start`, `proposer_chunk`, `proposer_end`, `synthesis_chunk`, `complete`, …) and an envelope. The chunks of a turn put together are its text; `…_restart` voids those before it.",
                Some(("text/event-stream", reference("Envelope"))),
            ),
            (204, "The debate is over and everything was told.", None),
        ],
        errors: &[404, 422],
    }
}

fn taking_part(generator: &mut SchemaGenerator) -> Vec<Operation> {
    const BODY: &[u16] = &[400, 404, 408, 409, 413, 415, 422];
    const BODY_AND_PLACE: &[u16] = &[400, 404, 408, 409, 413, 415, 422, 503];
    let post = |path, id_, summary, body, answers, errors| Operation {
        method: "post",
        path,
        id: id_,
        summary,
        parameters: vec![id()],
        body,
        answers,
        errors,
    };
    let standing = || vec![(202, "How it stands now.", Some(json_of("Standing")))];
    let required = |schema: schemars::Schema| Some((schema.to_value(), Presence::Required));
    vec![
        post(
            "/api/v1/debates/{id}/input",
            "speak",
            "A person speaks; the seats hear it from the next round on",
            required(generator.subschema_for::<Input>()),
            vec![(202, "It is in the journal.", Some(json_of("Heard")))],
            BODY,
        ),
        post(
            "/api/v1/debates/{id}/decision",
            "decide",
            "Decide what a waiting debate asks",
            required(generator.subschema_for::<DecisionRequest>()),
            standing(),
            BODY_AND_PLACE,
        ),
        post(
            "/api/v1/debates/{id}/pause",
            "pauseDebate",
            "Have a debate wait before its next round",
            None,
            standing(),
            &[404, 409],
        ),
        post(
            "/api/v1/debates/{id}/cancel",
            "cancelDebate",
            "End a debate; what was said is kept",
            None,
            standing(),
            &[404, 409],
        ),
        post(
            "/api/v1/debates/{id}/resume",
            "resumeDebate",
            "Go on with a debate that was paused, cancelled, cut short or failed",
            Some((
                generator.subschema_for::<ResumeRequest>().to_value(),
                Presence::Optional,
            )),
            standing(),
            BODY_AND_PLACE,
        ),
        post(
            "/api/v1/debates/{id}/rating",
            "rateDebate",
            "Say how good an answer was",
            required(generator.subschema_for::<RatingRequest>()),
            vec![(204, "It is in the journal.", None)],
            BODY,
        ),
    ]
}

fn export() -> Operation {
    let text = || json!({ "type": "string" });
    Operation {
        method: "get",
        path: "/api/v1/debates/{id}/export",
        id: "exportDebate",
        summary: "A debate as a document",
        parameters: vec![
            id(),
            query(
                "format",
                "json where it is left out. jsonl is one line for fine-tuning.",
                json!({ "type": "string", "enum": Format::NAMES }),
            ),
        ],
        body: None,
        answers: vec![(200, "The document.", Some(("*/*", text())))],
        errors: &[404, 409, 422],
    }
}

fn whole_server() -> Vec<Operation> {
    vec![
        get(
            "/healthz",
            "health",
            "Whether the server runs",
            reference("Health"),
        ),
        Operation {
            errors: &[503],
            ..get(
                "/readyz",
                "readiness",
                "Whether it can take requests",
                reference("Health"),
            )
        },
        get(
            "/api/openapi.json",
            "document",
            "This document",
            json!({ "type": "object" }),
        ),
    ]
}

fn get(path: &'static str, id_: &'static str, summary: &'static str, schema: Value) -> Operation {
    Operation {
        method: "get",
        path,
        id: id_,
        summary,
        parameters: if path.contains("{id}") {
            vec![id()]
        } else {
            Vec::new()
        },
        body: None,
        answers: vec![(200, "As asked.", Some((JSON, schema)))],
        errors: &[],
    }
}

/// Every operation can meet these: what cannot be read, no token, no right, another host, too many requests, a fault of ours,
/// a store that is away.
const ALWAYS: [u16; 7] = [400, 401, 403, 421, 429, 500, 503];

fn describe(operation: &Operation) -> Value {
    let mut responses = Map::new();
    for (status, description, content) in &operation.answers {
        let mut response = json!({ "description": description });
        if let Some((kind, schema)) = content {
            response["content"] = json!({ *kind: { "schema": schema } });
        }
        responses.insert(status.to_string(), response);
    }
    for status in operation.errors.iter().chain(&ALWAYS) {
        let name = axum::http::StatusCode::from_u16(*status).ok();
        let description = name.and_then(|name| name.canonical_reason());
        responses.insert(
            status.to_string(),
            json!({
                "description": description.unwrap_or("Error"),
                "content": { "application/problem+json": { "schema": reference("ProblemBody") } }
            }),
        );
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": operation.parameters,
        "responses": responses,
    });
    if let Some((schema, presence)) = &operation.body {
        described["requestBody"] = json!({
            "required": *presence == Presence::Required,
            "content": { JSON: { "schema": schema } }
        });
    }
    described
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn json_of(name: &str) -> Content {
    (JSON, reference(name))
}

fn parameter(place: &str, name: &str, description: &str, schema: &Value) -> Value {
    json!({ "in": place, "name": name, "description": description, "required": place == "path", "schema": schema })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "schemas are written where they are used"
)]
fn query(name: &str, description: &str, schema: Value) -> Value {
    parameter("query", name, description, &schema)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "schemas are written where they are used"
)]
fn header_parameter(name: &str, description: &str, schema: Value) -> Value {
    parameter("header", name, description, &schema)
}

fn id() -> Value {
    let schema = json!({ "type": "string", "format": "uuid" });
    parameter("path", "id", "The debate's id.", &schema)
}

fn event_id() -> Value {
    json!({ "type": "string", "pattern": "^[0-9]{1,15}$", "examples": ["12", "12~r3/skeptic/review:0:340:9ae16a3b"] })
}

fn time() -> Value {
    json!({ "type": "string", "pattern": "^20[0-9]{2}-0[1-9]-[01][1-9](T00:00:00Z)?$", "examples": ["2026-03-01", "2026-03-01T12:00:00Z"] })
}

/// What the server answers with.
fn answers() -> Map<String, Value> {
    let states: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
    let state = json!({ "type": "string", "enum": states });
    let time = json!({ "type": "string", "format": "date-time" });
    let count = json!({ "type": "integer", "minimum": 0 });
    let uuid = json!({ "type": "string", "format": "uuid" });
    let debate = json!({
        "id": uuid, "protocol": { "type": "string" }, "question": { "type": "string" }, "state": state,
        "created_at": time, "updated_at": time, "ended_at": { "type": ["string", "null"], "format": "date-time" },
        "totals": {
            "type": "object",
            "description": "What all calls used together; `cost_usd` is null as soon as one price is not known.",
            "properties": { "calls": count, "retries": count, "input_tokens": count, "output_tokens": count, "cached_tokens": count, "cost_usd": { "type": ["number", "null"] } }
        },
        "rating": { "type": ["integer", "null"], "minimum": 1, "maximum": 10 }
    });
    let required = [
        "id",
        "protocol",
        "question",
        "state",
        "created_at",
        "updated_at",
        "ended_at",
        "totals",
        "rating",
    ];
    let mut detail = debate.clone();
    detail["queue_position"] = count.clone();
    detail["pausing"] =
        json!({ "type": "boolean", "description": "Whether it is to stop before its next round." });
    detail["waiting_for"] = json!({
        "type": ["object", "null"],
        "description": "What a person is to decide before it goes on.",
        "properties": { "key": { "type": "string" }, "question": { "type": "string" }, "options": { "type": "array", "items": { "type": "string" } } }
    });
    detail["seq"] = json!({ "type": "integer", "minimum": 0, "description": "Events after what is shown here: …/events?after=" });
    detail["record"] = json!({ "type": ["object", "null"], "description": "The protocol's own record, with the fields of its design." });
    detail["report"] = json!({ "type": "object", "description": "Answer, facts and sections, for every protocol." });
    let mut detail_required = required.to_vec();
    detail_required.extend(["pausing", "waiting_for", "seq", "record", "report"]);
    let all = json!({
        "Debate": { "type": "object", "properties": debate, "required": required },
        "DebateDetail": { "type": "object", "properties": detail, "required": detail_required },
        "Listed": {
            "type": "object",
            "properties": { "debates": { "type": "array", "items": reference("Debate") }, "total": count, "next": { "type": ["string", "null"] } },
            "required": ["debates", "total", "next"]
        },
        "Standing": {
            "type": "object",
            "properties": { "id": uuid, "state": state, "location": { "type": "string" } },
            "required": ["id", "state", "location"]
        },
        "Heard": { "type": "object", "properties": { "number": count }, "required": ["number"] },
        "Health": {
            "type": "object",
            "properties": { "status": { "type": "string" }, "running": count, "queued": count },
            "required": ["status"]
        },
        "Envelope": {
            "type": "object",
            "properties": {
                "type": { "const": "debate_event" }, "event": { "type": "string" }, "round": count, "content": { "type": "string" },
                "metadata": {
                    "type": "object",
                    "properties": { "model": { "type": ["string", "null"] }, "role": { "type": ["string", "null"] }, "tokens_so_far": count },
                    "required": ["model", "role", "tokens_so_far"]
                }
            },
            "required": ["type", "event", "round", "content", "metadata"]
        }
    });
    if let Value::Object(all) = all {
        all
    } else {
        Map::new()
    }
}

pub(super) async fn as_json() -> Json<Value> {
    Json(document())
}

pub(super) async fn as_page() -> Html<String> {
    Html(page(&document()))
}

pub(super) async fn style() -> Response {
    const STYLE: &str = include_str!("openapi.css");
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

/// The document for people: every operation with what it takes and gives. Needs no script.
fn page(document: &Value) -> String {
    let mut out = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Roundtable API</title><link rel=\"stylesheet\" href=\"/api/docs.css\"></head><body><main><h1>Roundtable API</h1>",
    );
    let info = &document["info"];
    let _ = write!(
        out,
        "<p>{}</p><p>{}</p><p><a href=\"/api/openapi.json\">openapi.json</a> (OpenAPI {})</p>",
        text(&info["summary"]),
        text(&info["description"]),
        text(&document["openapi"])
    );
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            write_operation(&mut out, path, method, operation);
        }
    }
    out.push_str("<h2>Schemas</h2>");
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        let pretty = serde_json::to_string_pretty(schema).unwrap_or_default();
        let _ = write!(
            out,
            "<details id=\"{0}\"><summary><code>{0}</code></summary><pre>{1}</pre></details>",
            escape(name),
            escape(&pretty)
        );
    }
    out.push_str("</main></body></html>");
    out
}

fn write_operation(out: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        out,
        "<details><summary><code class=\"{0}\">{1}</code> <code>{2}</code> {3}</summary>",
        escape(method),
        escape(&method.to_uppercase()),
        escape(path),
        text(&operation["summary"])
    );
    let parameters = operation["parameters"].as_array();
    if let Some(parameters) = parameters.filter(|all| !all.is_empty()) {
        out.push_str("<h3>Parameters</h3><dl>");
        for parameter in parameters {
            let _ = write!(
                out,
                "<dt><code>{}</code> <small>{}</small></dt><dd>{} <code>{}</code></dd>",
                text(&parameter["name"]),
                text(&parameter["in"]),
                text(&parameter["description"]),
                escape(&parameter["schema"].to_string())
            );
        }
        out.push_str("</dl>");
    }
    let body = &operation["requestBody"]["content"][JSON]["schema"];
    if let Some(name) = referred(body) {
        let _ = write!(
            out,
            "<h3>Body</h3><p><a href=\"#{0}\"><code>{0}</code></a></p>",
            escape(name)
        );
    }
    out.push_str("<h3>Answers</h3><dl>");
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let _ = write!(
            out,
            "<dt><code>{}</code></dt><dd>{}",
            escape(status),
            text(&answer["description"])
        );
        for (kind, content) in answer["content"].as_object().into_iter().flatten() {
            let _ = write!(out, " <code>{}</code>", escape(kind));
            if let Some(name) = referred(&content["schema"]) {
                let _ = write!(out, " <a href=\"#{0}\"><code>{0}</code></a>", escape(name));
            }
        }
        out.push_str("</dd>");
    }
    out.push_str("</dl></details>");
}

fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
