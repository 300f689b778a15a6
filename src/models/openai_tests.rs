use roundtable_engine::model::{Delta, ModelError, Offer};
use serde_json::json;

use super::super::testing::{
    Reply, Server, call, called, calls, fleet_of, plain_request, registry, request, text,
    tool_request,
};
use super::*;

fn body(official: bool, conceded: Concessions) -> Value {
    let call = OpenAi { official }.call(&request("m"), conceded);
    assert_eq!("/chat/completions", call.path);
    serde_json::from_slice(&call.body).unwrap()
}

/// C-05: the schema goes along as `response_format`, exactly as it is.
#[test]
fn c05_a_compatible_server_gets_the_schema() {
    insta::assert_json_snapshot!(body(false, Concessions::default()));
}

/// C-05: strict mode refuses some keywords; the original has its own name for the limit.
#[test]
fn c05_the_original_gets_what_its_strict_mode_takes() {
    insta::assert_json_snapshot!(body(true, Concessions::default()));
}

#[test]
fn what_was_refused_is_left_out_and_the_schema_is_put_into_words() {
    let all = [
        Concession::Temperature,
        Concession::Seed,
        Concession::StreamOptions,
        Concession::NoLimit,
        Concession::SecondStructure,
    ];
    let conceded = all
        .into_iter()
        .fold(Concessions::default(), Concessions::with);
    insta::assert_json_snapshot!(body(false, conceded));
}

fn chunk(delta: &Value) -> String {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }).to_string()
}

fn finish(reason: &str) -> String {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }).to_string()
}

fn usage() -> String {
    json!({ "choices": [], "usage": {
        "prompt_tokens": 90, "completion_tokens": 12, "prompt_tokens_details": { "cached_tokens": 64 }
    }})
    .to_string()
}

/// C-03, C-11: any server by its address, with usage and the part of it that was cached.
#[tokio::test]
async fn c11_text_reasoning_usage_and_finish_arrive_in_order() {
    let server = Server::new([Reply::events(&[
        chunk(&json!({ "role": "assistant", "content": "" })),
        chunk(&json!({ "reasoning_content": "Hm." })),
        chunk(&json!({ "content": "Yes" })),
        chunk(&json!({ "content": ", é." })),
        finish("stop"),
        usage(),
        "[DONE]".to_owned(),
    ])]);
    let (deltas, error) = call(&registry("openai", &server), request("qwen3:32b")).await;
    assert_eq!(None, error);
    assert_eq!(
        vec![
            Delta::Reasoning("Hm.".to_owned()),
            Delta::Text("Yes, é.".to_owned()),
            Delta::Usage(Usage {
                input: 90,
                output: 12,
                cached: 64
            }),
            Delta::Finish(Finish::Stop),
        ],
        deltas
    );
    let seen = &server.seen()[0];
    assert_eq!("POST /chat/completions", seen.line);
    assert_eq!("Bearer sk-very-secret", seen.headers["authorization"]);
    assert_eq!("qwen3:32b", seen.body["model"]);
}

#[tokio::test]
async fn ends_other_than_stop_are_told_apart() {
    for (reason, expected) in [
        ("length", Finish::Length),
        ("content_filter", Finish::Refused),
    ] {
        let server = Server::new([Reply::events(&[
            chunk(&json!({ "content": "a" })),
            finish(reason),
            "[DONE]".to_owned(),
        ])]);
        let (deltas, _) = call(&registry("openai", &server), request("m")).await;
        assert_eq!(
            vec![Delta::Text("a".to_owned()), Delta::Finish(expected)],
            deltas
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_will_do() {
    let server = Server::new([Reply::json(
        200,
        &json!({
            "choices": [{ "message": { "role": "assistant", "content": "Yes." }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
        }),
    )]);
    let (deltas, error) = call(&registry("openai", &server), request("m")).await;
    assert_eq!(None, error);
    assert_eq!(
        vec![
            Delta::Text("Yes.".to_owned()),
            Delta::Usage(Usage {
                input: 3,
                output: 2,
                cached: 0
            }),
            Delta::Finish(Finish::Stop),
        ],
        deltas
    );
}

fn refusal(message: &str, param: &str) -> Reply {
    Reply::json(
        400,
        &json!({ "error": { "message": message, "param": param, "type": "invalid_request_error" } }),
    )
}

fn ok() -> Reply {
    Reply::events(&[
        chunk(&json!({ "content": "ok" })),
        finish("stop"),
        "[DONE]".to_owned(),
    ])
}

fn keys(body: &Value) -> Vec<&str> {
    body.as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[tokio::test]
async fn an_unsupported_parameter_is_left_out_and_stays_out_for_that_model() {
    let server = Server::new([
        refusal(
            "Unsupported value: 'temperature' does not support 0.8.",
            "temperature",
        ),
        refusal(
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.",
            "max_tokens",
        ),
        refusal("Unknown parameter: 'seed'.", "seed"),
        ok(),
    ]);
    let registry = registry("openai", &server);
    assert_eq!("ok", text(&registry, plain_request("a")).await);
    assert_eq!("ok", text(&registry, plain_request("a")).await);
    assert_eq!("ok", text(&registry, plain_request("b")).await);
    let bodies = server.bodies();
    let bare = vec![
        "model",
        "messages",
        "stream",
        "stream_options",
        "max_completion_tokens",
    ];
    assert_eq!(6, bodies.len());
    assert_eq!(bare, keys(&bodies[3]));
    assert_eq!(bare, keys(&bodies[4]));
    assert_eq!(
        vec![
            "model",
            "messages",
            "stream",
            "stream_options",
            "temperature",
            "seed",
            "max_tokens"
        ],
        keys(&bodies[5])
    );
}

/// C-05
#[tokio::test]
async fn c05_a_server_without_schemas_gets_the_schema_in_words() {
    let server = Server::new([
        refusal(
            "response_format json_schema is not supported",
            "response_format",
        ),
        ok(),
    ]);
    let registry = registry("openai", &server);
    assert_eq!("ok", text(&registry, request("a")).await);
    assert_eq!("ok", text(&registry, request("a")).await);
    let formats: Vec<Value> = server
        .bodies()
        .iter()
        .map(|body| body["response_format"]["type"].clone())
        .collect();
    assert_eq!(vec!["json_schema", "json_object", "json_object"], formats);
    let system = server.bodies()[1]["messages"][0]["content"].to_string();
    assert!(system.contains("maxLength"), "{system}");
}

/// A prompt that is too long is not made shorter by leaving `max_tokens` out.
#[tokio::test]
async fn a_refusal_for_length_is_no_reason_to_leave_anything_out() {
    let server = Server::new([refusal(
        "max_tokens is too large: this model's maximum context length is 4096 tokens",
        "max_tokens",
    )]);
    let (_, error) = call(&registry("openai", &server), request("m")).await;
    assert!(
        matches!(
            error,
            Some(roundtable_engine::model::ModelError::TooLong { .. })
        ),
        "{error:?}"
    );
    assert_eq!(1, server.seen().len());
}

/// A model that thinks spends its limit on that: it gets room, once it has shown that it does.
#[tokio::test]
async fn a_reply_lost_to_thinking_is_asked_for_again_with_room() {
    let spent = json!({ "choices": [], "usage": {
        "prompt_tokens": 9, "completion_tokens": 1500, "completion_tokens_details": { "reasoning_tokens": 1500 }
    }});
    let server = Server::new([
        Reply::events(&[finish("length"), spent.to_string(), "[DONE]".to_owned()]),
        ok(),
    ]);
    let (deltas, error) = call(&registry("openai", &server), request("m")).await;
    assert_eq!(None, error);
    assert_eq!(
        vec![
            Delta::Usage(Usage {
                input: 9,
                output: 1500,
                cached: 0
            }),
            Delta::Restart {
                reason: "the reply was cut while the model was still thinking".to_owned()
            },
            Delta::Text("ok".to_owned()),
            Delta::Finish(Finish::Stop),
        ],
        deltas
    );
    let limits: Vec<Value> = server
        .bodies()
        .iter()
        .map(|body| body["max_tokens"].clone())
        .collect();
    assert_eq!(vec![json!(1500), json!(1500 + 8192)], limits);
}

#[tokio::test]
async fn the_list_of_models_has_their_age() {
    let server = Server::new([Reply::json(
        200,
        &json!({ "object": "list", "data": [{ "id": "a", "created": 1_700_000_000 }, { "id": "b" }] }),
    )]);
    let list = registry("openai", &server).list("lab").await.unwrap();
    let created = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    assert_eq!(
        vec![
            Listed {
                id: "a".to_owned(),
                created: Some(created),
                bytes: None
            },
            Listed {
                id: "b".to_owned(),
                created: None,
                bytes: None
            },
        ],
        list
    );
    assert_eq!("GET /models", server.seen()[0].line);
}

/// Parts in place of text, an empty reason with every chunk, and details that nobody asked for.
#[tokio::test]
async fn the_habits_of_other_servers_do_no_harm() {
    let parts = json!([
        { "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }] },
        { "type": "text", "text": "Yes" },
    ]);
    let untidy = json!({ "choices": [{ "delta": { "content": parts, "reasoning": { "x": 1 } }, "finish_reason": "" }] });
    let server = Server::new([Reply::events(&[
        untidy.to_string(),
        chunk(&json!({ "content": "." })),
    ])]);
    let (deltas, error) = call(&registry("openai", &server), request("m")).await;
    assert_eq!(vec![Delta::Text("Yes.".to_owned())], deltas);
    // The empty reason was no finish.
    assert!(
        matches!(
            error,
            Some(roundtable_engine::model::ModelError::Interrupted { .. })
        ),
        "{error:?}"
    );
}

fn tool_body(official: bool, offer: Offer) -> Value {
    let call = OpenAi { official }.call(&tool_request("m", offer), Concessions::default());
    serde_json::from_slice(&call.body).unwrap()
}

/// M-15: the original takes tools beside a schema. Others get the schema in words as long as a tool may be called, and as
/// a demand when none may any more.
#[test]
fn m15_tools_calls_and_results_are_sent() {
    insta::assert_json_snapshot!("m15_original_open", tool_body(true, Offer::Open));
    insta::assert_json_snapshot!("m15_compatible_open", tool_body(false, Offer::Open));
    let closed = tool_body(true, Offer::Closed);
    assert_eq!(
        (&json!("none"), 2),
        (
            &closed["tool_choice"],
            closed["tools"].as_array().unwrap().len()
        )
    );
    let closed = tool_body(false, Offer::Closed);
    assert_eq!(
        (&Value::Null, &json!("json_schema")),
        (&closed["tools"], &closed["response_format"]["type"])
    );
}

fn call_chunk(calls: &Value) -> String {
    chunk(&json!({ "tool_calls": calls }))
}

/// M-15: two calls at once, their arguments in pieces, mixed.
#[tokio::test]
async fn m15_calls_of_tools_are_put_together() {
    let server = Server::new([Reply::events(&[
        call_chunk(
            &json!([{ "index": 0, "id": "a", "type": "function", "function": { "name": "search", "arguments": "" } }]),
        ),
        call_chunk(&json!([{ "index": 0, "function": { "arguments": "{\"query\":" } }])),
        call_chunk(
            &json!([{ "index": 1, "id": "b", "type": "function", "function": { "name": "calculate", "arguments": "{\"query\":\"2\"}" } }]),
        ),
        call_chunk(&json!([{ "index": 0, "function": { "arguments": "\"é\"}" } }])),
        finish("tool_calls"),
        "[DONE]".to_owned(),
    ])]);
    let said = calls(&registry("openai", &server), tool_request("m", Offer::Open)).await;
    assert_eq!(
        vec![
            called("a", "search", "{\"query\":\"é\"}"),
            called("b", "calculate", "{\"query\":\"2\"}")
        ],
        said
    );
}

/// M-15: without numbers, all with the same number, without ids, with the object itself, or without streaming at all.
#[tokio::test]
async fn m15_calls_are_told_apart_however_servers_number_them() {
    let function = |name: &str| json!({ "name": name, "arguments": "{}" });
    let wanted = vec![called("a", "search", "{}"), called("b", "calculate", "{}")];
    for index in [json!(null), json!(0)] {
        let server = Server::new([Reply::events(&[
            call_chunk(&json!([{ "index": index, "id": "a", "function": function("search") }])),
            call_chunk(&json!([{ "index": index, "id": "b", "function": function("calculate") }])),
            finish("tool_calls"),
            "[DONE]".to_owned(),
        ])]);
        assert_eq!(
            wanted,
            calls(&registry("openai", &server), tool_request("m", Offer::Open)).await
        );
    }
    let server = Server::new([Reply::json(
        200,
        &json!({ "choices": [{ "message": { "content": null, "tool_calls": [
            { "index": 0, "function": { "name": "search", "arguments": { "query": "x" } } },
            { "index": 1, "function": { "name": "search", "arguments": "{\"query\":\"y\"" } },
        ] }, "finish_reason": "tool_calls" }] }),
    )]);
    let said = calls(&registry("openai", &server), tool_request("m", Offer::Open)).await;
    assert_eq!(
        vec![
            called("call_1", "search", "{\"query\":\"x\"}"),
            called("call_2", "search", "{\"query\":\"y\"")
        ],
        said
    );
}

/// M-15: a call that is cut in the stream is an interrupted attempt, and the next one begins anew.
#[tokio::test]
async fn m15_a_cut_call_is_tried_again() {
    let start = call_chunk(
        &json!([{ "index": 0, "id": "a", "function": { "name": "search", "arguments": "{\"que" } }]),
    );
    let whole = call_chunk(
        &json!([{ "index": 0, "id": "b", "function": { "name": "search", "arguments": "{}" } }]),
    );
    let script = || {
        [
            Reply::events(std::slice::from_ref(&start)).broken(),
            Reply::events(&[whole.clone(), finish("tool_calls"), "[DONE]".to_owned()]),
        ]
    };
    let server = Server::new(script());
    let (deltas, error) = call(&registry("openai", &server), tool_request("m", Offer::Open)).await;
    assert!(
        deltas.is_empty() && matches!(error, Some(ModelError::Interrupted { .. })),
        "{error:?}"
    );
    let server = Server::new(script());
    let patient = fleet_of(&format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n[retry]\nattempts = 2\nbase_ms = 1\n",
        server.address
    ));
    assert_eq!(
        vec![called("b", "search", "{}")],
        calls(&patient, tool_request("m", Offer::Open)).await
    );
}

/// M-15: what a server without tools refuses is left out, and the model replies as it can.
#[tokio::test]
async fn m15_a_server_without_tools_gets_none() {
    let server = Server::new([
        Reply::json(
            400,
            &json!({ "error": { "message": "m does not support tools" } }),
        ),
        Reply::events(&[
            chunk(&json!({ "content": "{}" })),
            finish("stop"),
            "[DONE]".to_owned(),
        ]),
    ]);
    assert_eq!(
        "{}",
        text(&registry("openai", &server), tool_request("m", Offer::Open)).await
    );
    let bodies = server.bodies();
    assert!(bodies[0]["tools"].is_array() && bodies[1]["tools"].is_null());
}
