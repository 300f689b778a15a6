//! The parts of the OpenAPI document: operations, their parameters and responses, and the schemas they refer to.

use axum::http::StatusCode;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::JSON;
use crate::server::rest::MAX_KEY_BYTES;

/// Errors of every operation: malformed request, missing token, insufficient scope, unknown host, rate limit, internal error,
/// unavailable store.
pub(super) const COMMON_ERRORS: [u16; 7] = [400, 401, 403, 421, 429, 500, 503];
/// Errors of an operation on a debate that reads a body.
pub(super) const BODY_ERRORS: &[u16] = &[404, 408, 409, 413, 415, 422];

pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Body>,
    pub(super) responses: Vec<Response>,
    /// Statuses in addition to [`COMMON_ERRORS`].
    pub(super) errors: &'static [u16],
}

pub(super) struct Body {
    pub(super) schema: Value,
    pub(super) is_required: bool,
}

pub(super) struct Response {
    pub(super) status: u16,
    pub(super) description: &'static str,
    /// Schema by media type.
    pub(super) content: Vec<(&'static str, Value)>,
}

impl Response {
    pub(super) fn json(status: u16, description: &'static str, schema: Value) -> Self {
        Self {
            status,
            description,
            content: vec![(JSON, schema)],
        }
    }

    pub(super) fn empty(status: u16, description: &'static str) -> Self {
        Self {
            status,
            description,
            content: Vec::new(),
        }
    }
}

impl Operation {
    pub(super) fn get(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        schema: Value,
    ) -> Self {
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

    pub(super) fn post(
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
pub(super) struct Schemas {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self {
            requests: settings.clone().into_generator(),
            responses: settings.for_serialize().into_generator(),
        }
    }

    pub(super) fn required<T: JsonSchema>(&mut self) -> Body {
        Body {
            schema: self.requests.subschema_for::<T>().to_value(),
            is_required: true,
        }
    }

    pub(super) fn optional<T: JsonSchema>(&mut self) -> Body {
        Body {
            is_required: false,
            ..self.required::<T>()
        }
    }

    pub(super) fn response<T: JsonSchema>(&mut self) -> Value {
        self.responses.subschema_for::<T>().to_value()
    }

    /// The named schemas of requests and of responses.
    pub(super) fn into_definitions(mut self) -> [Map<String, Value>; 2] {
        [
            self.requests.take_definitions(true),
            self.responses.take_definitions(true),
        ]
    }
}

/// `error` is the media type and the schema of its errors.
pub(super) fn describe(operation: Operation, error: &(&str, Value)) -> Value {
    let mut responses = Map::new();
    for response in operation.responses {
        let mut described = json!({ "description": response.description });
        for (media_type, schema) in response.content {
            described["content"][media_type] = json!({ "schema": schema });
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
                "content": { error.0: { "schema": error.1 } }
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

pub(super) fn parameter(place: &str, name: &str, description: &str, schema: &Value) -> Value {
    json!({ "in": place, "name": name, "description": description, "required": place == "path", "schema": schema })
}

pub(super) fn query(name: &str, description: &str, schema: &Value) -> Value {
    parameter("query", name, description, schema)
}

pub(super) fn header_parameter(name: &str, description: &str, schema: &Value) -> Value {
    parameter("header", name, description, schema)
}

pub(super) fn idempotency_key() -> Value {
    header_parameter(
        "Idempotency-Key",
        "Requests with the same key and content create one debate.",
        &json!({ "type": "string", "minLength": 1, "maxLength": MAX_KEY_BYTES, "pattern": "^[!-~]+$" }),
    )
}

pub(super) fn id_parameter() -> Value {
    let schema = json!({ "type": "string", "format": "uuid" });
    parameter("path", "id", "The debate's id.", &schema)
}
