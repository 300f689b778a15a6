//! The operations of the OpenAI-compatible API (B-03). Their errors have OpenAI's shape.

use serde_json::{Value, json};

use super::operation::{Operation, Response, Schemas, idempotency_key, parameter};
use crate::server::openai::{
    ChatCompletion, ChatRequest, Model, ModelList, ResponseObject, ResponsesRequest,
};

/// Instead of a problem document.
pub(super) fn has_own_errors(path: &str) -> bool {
    crate::server::openai::is_path(path)
}

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let model = json!({ "type": "string", "examples": ["roundtable/panel"] });
    let events = json!({ "type": "string" });
    vec![
        Operation::get(
            "/v1/models",
            "listModels",
            "List the debates that can be used as a model",
            schemas.response::<ModelList>(),
        ),
        Operation {
            parameters: vec![parameter("path", "model", "The model's id.", &model)],
            errors: &[404],
            ..Operation::get(
                "/v1/models/{model}",
                "showModel",
                "Get a model",
                schemas.response::<Model>(),
            )
        },
        Operation {
            parameters: vec![idempotency_key()],
            responses: vec![Response {
                status: 200,
                description: "The answer; with `stream`, chunks with the debate as reasoning, then the answer",
                content: vec![
                    ("application/json", schemas.response::<ChatCompletion>()),
                    ("text/event-stream", events),
                ],
            }],
            errors: &[404, 408, 409, 413, 415, 502],
            ..Operation::post(
                "/v1/chat/completions",
                "completeChat",
                "Debate the last message of a chat",
                Some(schemas.required::<ChatRequest>()),
                Response::empty(200, ""),
            )
        },
        Operation {
            parameters: vec![idempotency_key()],
            responses: vec![Response {
                status: 200,
                description: "The answer; with `stream`, events with the debate as a summary of reasoning, then the answer",
                content: vec![
                    ("application/json", schemas.response::<ResponseObject>()),
                    ("text/event-stream", json!({ "type": "string" })),
                ],
            }],
            errors: &[404, 408, 409, 413, 415, 502],
            ..Operation::post(
                "/v1/responses",
                "createResponse",
                "Debate the last message of the input",
                Some(schemas.required::<ResponsesRequest>()),
                Response::empty(200, ""),
            )
        },
    ]
}

/// The type of the errors.
pub(super) fn error(schemas: &mut Schemas) -> Value {
    schemas.response::<crate::server::openai::ErrorBody>()
}
