//! The Responses API.

use serde_json::{Value, json};

use crate::harness::{Home, QUESTION, Serving};
use crate::openai_api::{debates, error, model_server};

const RESPONSES: &str = "/v1/responses";

/// The response without streaming, with the whole history or with the id of the response before.
#[test]
fn b03_the_responses_api_answers() {
    let model = model_server();
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let body = json!({ "model": "roundtable/panel", "input": QUESTION, "metadata": { "a": "b" } });
    let first = serving.post(RESPONSES, &body).json();
    assert_eq!(first["object"], "response");
    assert_eq!(first["status"], "completed");
    assert_eq!(first["metadata"], json!({ "a": "b" }));
    let message = &first["output"][0];
    assert_eq!(message["type"], "message");
    assert_eq!(
        message["content"][0]["text"],
        "Use a queue. STOP Because of bursts."
    );
    assert!(first["usage"]["total_tokens"].as_u64().unwrap() > 0);
    assert_eq!(first["roundtable"]["calls"], 9);
    // Asked on.
    let body =
        json!({ "model": "panel", "input": "And then?", "previous_response_id": first["id"] });
    let second = serving.post(RESPONSES, &body).json();
    assert_eq!(second["previous_response_id"], first["id"]);
    assert_eq!(second["model"], "roundtable/panel");
    let heard = model.heard().last().unwrap().to_string();
    for words in [
        "And then?",
        "> User: Should we put",
        "> Assistant: Use a queue.",
    ] {
        assert!(heard.contains(words), "'{words}' is not in {heard}");
    }
    // As Codex asks, with items and tools that need not be called.
    let body = json!({
        "model": "roundtable/panel",
        "instructions": "You are a coding agent.",
        "input": [
            { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "Be brief." }] },
            { "type": "reasoning", "summary": [], "encrypted_content": "x" },
            { "type": "function_call", "name": "shell", "arguments": "{}", "call_id": "1" },
            { "type": "function_call_output", "call_id": "1", "output": "a.rs" },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": QUESTION }] },
        ],
        "tools": [{ "type": "function", "name": "shell" }],
        "tool_choice": "auto",
        "parallel_tool_calls": false,
        "store": false,
        "include": ["reasoning.encrypted_content"],
    });
    assert_eq!(serving.post(RESPONSES, &body).status, 200);
    let heard = model.heard().last().unwrap().to_string();
    for words in [
        "> You are a coding agent.",
        "> Be brief.",
        "> Assistant: calls shell",
        "> Tool: a.rs",
    ] {
        assert!(heard.contains(words), "'{words}' is not in {heard}");
    }
    let cut = json!({ "model": "roundtable/panel", "input": QUESTION, "max_output_tokens": 4 });
    let cut = serving.post(RESPONSES, &cut).json();
    assert_eq!(cut["status"], "incomplete");
    assert_eq!(cut["incomplete_details"]["reason"], "max_output_tokens");
    let format = json!({ "type": "json_schema", "name": "verdict", "schema": {
        "type": "object", "properties": { "queue": { "type": "boolean" } }, "required": ["queue"],
    } });
    let json =
        json!({ "model": "roundtable/panel", "input": QUESTION, "text": { "format": format } });
    let json = serving.post(RESPONSES, &json).json();
    assert_eq!(
        json["output"][0]["content"][0]["text"],
        "{\"queue\":true,\"why\":\"Bursts.\"}"
    );
}

/// The events in OpenAI's order, numbered without a gap.
#[test]
fn b03_the_responses_api_streams_its_events_in_order() {
    let home = Home::with_model(&model_server());
    let serving = Serving::start(&home, &[]);
    let body = json!({ "model": "roundtable/panel", "input": QUESTION, "stream": true });
    let stream = serving.post_stream(RESPONSES, &body);
    assert_eq!(stream.status, 200);
    let events: Vec<Value> = stream
        .map(|block| {
            let (name, data) = block.split_once("\ndata: ").unwrap();
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(name, format!("event: {}", data["type"].as_str().unwrap()));
            data
        })
        .collect();
    let mut kinds: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], index);
    }
    kinds.dedup();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, expected);
    let told: String = events
        .iter()
        .filter(|event| event["type"] == "response.reasoning_summary_text.delta")
        .map(|event| event["delta"].as_str().unwrap())
        .collect();
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["output"][0]["summary"][0]["text"], told.as_str());
    assert_eq!(
        response["output"][1]["content"][0]["text"],
        "Use a queue. STOP Because of bursts."
    );
    assert!(response["usage"]["total_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn b03_bad_requests_to_the_responses_api_are_refused() {
    let home = Home::with_model(&model_server());
    let serving = Serving::start(&home, &[]);
    for (more, status, param, code) in [
        (json!({ "input": [] }), 400, "messages", "invalid_request"),
        (json!({ "input": 7 }), 400, "input", "invalid_request"),
        (
            json!({ "input": [{ "role": "wizard", "content": "x" }] }),
            400,
            "input[0].role",
            "invalid_request",
        ),
        (
            json!({ "background": true }),
            400,
            "background",
            "unsupported_parameter",
        ),
        (
            json!({ "tool_choice": "required" }),
            400,
            "tool_choice",
            "unsupported_parameter",
        ),
        (json!({ "model": "gpt-5" }), 404, "model", "model_not_found"),
        (
            json!({ "previous_response_id": "resp_0" }),
            404,
            "previous_response_id",
            "previous_response_not_found",
        ),
        (
            json!({ "text": { "format": { "type": "json_schema" } } }),
            400,
            "text.format.schema",
            "invalid_request",
        ),
    ] {
        let mut body = json!({ "model": "roundtable/panel", "input": QUESTION });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        let reply = serving.post(RESPONSES, &body);
        let error = error(&reply, status, "invalid_request_error", code);
        assert_eq!(error["param"], param, "{more}");
    }
    assert_eq!(debates(&serving).len(), 0);
}
