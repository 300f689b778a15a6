use roundtable_engine::model::{Delta, Offer};
use serde_json::json;

use super::super::test_support::{
    Reply, Server, call, called, calls, plain_request, registry, request, tool_request,
};
use super::*;

fn body(ollama: &Ollama, request: &Request) -> Value {
    let call = ollama.call(request, Adjustments::default());
    assert_eq!("/api/chat", call.path);
    serde_json::from_slice(&call.body).unwrap()
}

/// C-05
#[test]
fn c05_the_request_has_the_schema_and_the_length_of_the_context() {
    insta::assert_json_snapshot!(body(&Ollama::default(), &request("qwen3:32b")));
}

#[test]
fn the_context_fits_prompt_and_reply_and_never_shrinks() {
    let ollama = Ollama::default();
    let mut long = plain_request("a");
    long.messages[0].text = "ab ".repeat(10_000);
    long.messages[1].text = "é".repeat(1_000);
    let short = plain_request("a");
    let other = plain_request("b");
    let contexts: Vec<Value> = [&short, &long, &short, &other]
        .map(|request| body(&ollama, request)["options"]["num_ctx"].clone())
        .into();
    // 10,000 + 1,000 + 1,500 for the reply, a little for the rest, up to the next 1,024
    assert_eq!(
        vec![json!(4096), json!(13_312), json!(13_312), json!(4096)],
        contexts
    );
}

/// C-03, C-11
#[tokio::test]
async fn c11_thinking_text_and_usage_are_read() {
    let lines = [
        json!({ "message": { "role": "assistant", "content": "", "thinking": "Hm." }, "done": false }),
        json!({ "message": { "role": "assistant", "content": "Yes." }, "done": false }),
        json!({ "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "length",
            "prompt_eval_count": 40, "eval_count": 8 }),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    // Split within a line.
    let (head, tail) = text.split_at(70);
    let server = Server::new([Reply::chunks("application/x-ndjson", &[head, tail])]);
    let (deltas, error) = call(&registry("ollama", &server), request("qwen3:32b")).await;
    assert_eq!(None, error);
    assert_eq!(
        vec![
            Delta::Reasoning("Hm.".to_owned()),
            Delta::Text("Yes.".to_owned()),
            Delta::Usage(Usage {
                input: 40,
                output: 8,
                cached: 0
            }),
            Delta::Finish(Finish::Length),
        ],
        deltas
    );
    assert_eq!("POST /api/chat", server.seen()[0].line);
}

#[tokio::test]
async fn an_error_in_the_stream_is_an_error() {
    let server = Server::new([Reply::chunks(
        "application/x-ndjson",
        &[
            "{\"message\":{\"content\":\"Ye\"},\"done\":false}\n",
            "{\"error\":\"model runner has stopped\"}\n",
        ],
    )]);
    let (deltas, error) = call(&registry("ollama", &server), request("m")).await;
    assert_eq!(vec![Delta::Text("Ye".to_owned())], deltas);
    assert_eq!(
        Some(roundtable_engine::model::ModelError::Server {
            status: 200,
            retry_after: None,
            detail: "lab:m: model runner has stopped".to_owned(),
        }),
        error
    );
}

#[tokio::test]
async fn the_list_of_models_has_their_size() {
    let server = Server::new([Reply::json(
        200,
        &json!({ "models": [{ "name": "qwen3:32b", "size": 20_201_253_588_u64 }] }),
    )]);
    let list = registry("ollama", &server).list("lab").await.unwrap();
    assert_eq!(
        vec![Listed {
            id: "qwen3:32b".to_owned(),
            bytes: Some(20_201_253_588),
            ..Listed::default()
        }],
        list
    );
    assert_eq!("GET /api/tags", server.seen()[0].line);
}

/// M-15: while tools may be called, the schema is sent as text.
#[test]
fn m15_tools_calls_and_results_are_sent() {
    let ollama = Ollama::default();
    insta::assert_json_snapshot!(
        "m15_open",
        body(&ollama, &tool_request("qwen3:32b", Offer::Open))
    );
    let closed = body(&ollama, &tool_request("qwen3:32b", Offer::Closed));
    assert!(closed["tools"].is_null() && closed["format"].is_object());
}

#[tokio::test]
async fn m15_tool_calls_are_read() {
    let lines = [
        json!({ "message": { "content": "", "tool_calls": [
            { "function": { "name": "search", "arguments": { "query": "é" } } },
            { "function": { "name": "calculate", "arguments": { "query": "2" } } },
        ] }, "done": false }),
        json!({ "message": { "content": "" }, "done": true, "done_reason": "stop" }),
    ];
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    let server = Server::new([Reply::chunks("application/x-ndjson", &lines)]);
    let tool_calls = calls(
        &registry("ollama", &server),
        tool_request("qwen3:32b", Offer::Open),
    )
    .await;
    assert_eq!(
        vec![
            called("call_1", "search", "{\"query\":\"é\"}"),
            called("call_2", "calculate", "{\"query\":\"2\"}")
        ],
        tool_calls
    );
}
