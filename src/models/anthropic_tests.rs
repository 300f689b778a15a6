use roundtable_core::usage::Usage;
use std::time::{Duration, SystemTime};

use roundtable_engine::model::{Delta, Offer};
use serde_json::json;

use super::super::test_support::{
    Reply, Server, call, called, calls, registry, request, text, tool_request,
};
use super::*;

fn body(request: &Request, adjustments: Adjustments) -> Value {
    let call = Anthropic.call(request, adjustments);
    assert_eq!("/messages", call.path);
    serde_json::from_slice(&call.body).unwrap()
}

/// C-05, C-13: with the schema, and cache breakpoints after the system prompt and the shared content.
#[test]
fn c13_the_request_has_the_schema_and_its_breakpoints() {
    insta::assert_json_snapshot!(body(&request("claude"), Adjustments::default()));
}

/// C-05: for models and servers without `output_config`.
#[test]
fn c05_the_schema_as_the_input_of_a_forced_tool() {
    let adjustments = Adjustments::default()
        .with(Adjustment::SecondSchemaMode)
        .with(Adjustment::OmitTemperature);
    insta::assert_json_snapshot!(body(&request("claude"), adjustments));
}

/// C-13: Anthropic allows four breakpoints; the longest prefixes get them.
#[test]
fn c13_there_are_never_more_than_four_breakpoints() {
    let mut request = request("claude");
    for message in &mut request.messages {
        message.shared = true;
    }
    let body = body(&request, Adjustments::default());
    let marked = |block: &Value| block.get("cache_control").is_some();
    let blocks: Vec<bool> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|turn| turn["content"].as_array().unwrap())
        .map(marked)
        .collect();
    assert!(marked(&body["system"][0]));
    assert_eq!(vec![false, true, true, true], blocks);
}

fn events(middle: &[Value], stop_reason: &str) -> Vec<String> {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": "m", "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 80, "output_tokens": 1
        }}}),
        json!({ "type": "ping" }),
    ];
    events.extend_from_slice(middle);
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason }, "usage": { "output_tokens": 25 } }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(Value::to_string).collect()
}

fn delta(delta: &Value) -> Value {
    json!({ "type": "content_block_delta", "index": 0, "delta": delta })
}

/// C-03, C-11: `input` is the total; the part read from the cache is counted separately.
#[tokio::test]
async fn c11_thinking_text_and_usage_are_read() {
    let server = Server::new([Reply::events(&events(
        &[
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
            delta(&json!({ "type": "thinking_delta", "thinking": "Hm." })),
            delta(&json!({ "type": "signature_delta", "signature": "x" })),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } }),
            delta(&json!({ "type": "text_delta", "text": "{\"text\":" })),
            delta(&json!({ "type": "text_delta", "text": "\"é\"}" })),
        ],
        "end_turn",
    ))]);
    let (deltas, error) = call(&registry("anthropic", &server), request("claude")).await;
    assert_eq!(None, error);
    assert_eq!(
        vec![
            Delta::Reasoning("Hm.".to_owned()),
            Delta::Text("{\"text\":\"é\"}".to_owned()),
            Delta::Usage(Usage {
                input: 95,
                output: 25,
                cached: 80
            }),
            Delta::Finish(Finish::Stop),
        ],
        deltas
    );
    let seen = &server.seen()[0];
    assert_eq!("POST /v1/messages", seen.line);
    assert_eq!(
        ("sk-very-secret", "2023-06-01"),
        (
            seen.headers["x-api-key"].as_str(),
            seen.headers["anthropic-version"].as_str()
        )
    );
}

/// C-05: the input of the tool is the reply and streams like text.
#[tokio::test]
async fn c05_a_rejected_schema_mode_leads_to_the_next() {
    let refusal = |message: &str| {
        Reply::json(
            400,
            &json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } }),
        )
    };
    let in_tool = Reply::events(&events(
        &[
            json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "tool_use", "id": "t", "name": "critique", "input": {} } }),
            delta(&json!({ "type": "input_json_delta", "partial_json": "{\"score\"" })),
            delta(&json!({ "type": "input_json_delta", "partial_json": ":3}" })),
        ],
        "tool_use",
    ));
    let server = Server::new([
        refusal("temperature: this model does not take it"),
        refusal("output_config: Extra inputs are not permitted"),
        in_tool,
    ]);
    let registry = registry("anthropic", &server);
    assert_eq!("{\"score\":3}", text(&registry, request("claude")).await);
    assert_eq!("{\"score\":3}", text(&registry, request("claude")).await);
    let forced: Vec<bool> = server
        .bodies()
        .iter()
        .map(|body| body.get("tool_choice").is_some())
        .collect();
    assert_eq!(vec![false, false, true, true], forced);
}

#[tokio::test]
async fn truncated_refused_and_unstreamed_replies_are_read() {
    for (reason, expected) in [("max_tokens", Finish::Length), ("refusal", Finish::Refused)] {
        let server = Server::new([Reply::events(&events(&[], reason))]);
        let (deltas, _) = call(&registry("anthropic", &server), request("claude")).await;
        assert_eq!(Some(&Delta::Finish(expected)), deltas.last());
    }
    let whole = json!({ "type": "message", "content": [{ "type": "text", "text": "Yes." }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 1, "output_tokens": 2 } });
    let server = Server::new([Reply::json(200, &whole)]);
    assert_eq!(
        "Yes.",
        text(&registry("anthropic", &server), request("claude")).await
    );
}

#[tokio::test]
async fn the_list_of_models_has_their_age() {
    let server = Server::new([Reply::json(
        200,
        &json!({ "data": [{ "type": "model", "id": "claude-x", "created_at": "2023-11-14T22:13:20Z" }] }),
    )]);
    let list = registry("anthropic", &server).list("lab").await.unwrap();
    let created = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    assert_eq!(
        vec![Listed {
            id: "claude-x".to_owned(),
            created: Some(created),
            ..Listed::default()
        }],
        list
    );
    assert_eq!("GET /v1/models?limit=1000", server.seen()[0].line);
}

/// M-15: tools are sent next to the schema. If the reply itself is a tool call, a tool must be called. When no more calls are
/// allowed the tools are still declared, because the conversation mentions them.
#[test]
fn m15_tools_calls_and_results_are_sent() {
    let as_tool = Adjustments::default().with(Adjustment::SecondSchemaMode);
    let with = |offer, adjustments| body(&tool_request("claude", offer), adjustments);
    insta::assert_json_snapshot!("m15_open", with(Offer::Open, Adjustments::default()));
    let choice = |offer, adjustments| {
        let body = with(offer, adjustments);
        let names: Vec<Value> = body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].clone())
            .collect();
        json!([body["tool_choice"], names])
    };
    assert_eq!(
        json!([{ "type": "none" }, ["search", "calculate"]]),
        choice(Offer::Closed, Adjustments::default())
    );
    assert_eq!(
        json!([{ "type": "any" }, ["critique", "search", "calculate"]]),
        choice(Offer::Open, as_tool)
    );
    assert_eq!(
        json!([{ "type": "tool", "name": "critique" }, ["critique", "search", "calculate"]]),
        choice(Offer::Closed, as_tool)
    );
}

fn used(index: u32, id: &str, name: &str) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": { "type": "tool_use", "id": id, "name": name, "input": {} } })
}

fn input(index: u32, json: &str) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": { "type": "input_json_delta", "partial_json": json } })
}

#[tokio::test]
async fn m15_tool_calls_are_assembled_and_a_reply_as_a_tool_call_is_text() {
    let server = Server::new([Reply::events(&events(
        &[
            used(1, "toolu_1", "search"),
            input(1, "{\"query\":"),
            input(1, "\"é\"}"),
            used(2, "toolu_2", "calculate"),
            input(2, "{}"),
        ],
        "tool_use",
    ))]);
    let tool_calls = calls(
        &registry("anthropic", &server),
        tool_request("claude", Offer::Open),
    )
    .await;
    assert_eq!(
        vec![
            called("toolu_1", "search", "{\"query\":\"é\"}"),
            called("toolu_2", "calculate", "{}")
        ],
        tool_calls
    );
    let server = Server::new([Reply::events(&events(
        &[used(0, "toolu_3", "critique"), input(0, "{\"text\":\"a\"}")],
        "tool_use",
    ))]);
    let registry = registry("anthropic", &server);
    assert_eq!(
        "{\"text\":\"a\"}",
        text(&registry, tool_request("claude", Offer::Open)).await
    );
}
