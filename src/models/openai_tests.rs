use roundtable_engine::model::{Delta, ModelError, Offer};
use serde_json::json;

use super::super::test_support::{
    Reply, Server, call, called, calls, plain_request, registry, registry_from, request, text,
    tool_request,
};
use super::*;

fn body(official: bool, adjustments: Adjustments) -> Value {
    let call = OpenAi { official }.call(&request("m"), adjustments);
    assert_eq!("/chat/completions", call.path);
    serde_json::from_slice(&call.body).unwrap()
}

/// C-05: the schema is sent unchanged as `response_format`.
#[test]
fn c05_a_compatible_server_gets_the_schema() {
    insta::assert_json_snapshot!(body(false, Adjustments::default()));
}

/// C-05: strict mode rejects some keywords, and the token limit has another name.
#[test]
fn c05_openai_gets_a_schema_for_strict_mode() {
    insta::assert_json_snapshot!(body(true, Adjustments::default()));
}

#[test]
fn rejected_parameters_are_omitted_and_the_schema_is_sent_as_text() {
    let all = [
        Adjustment::OmitTemperature,
        Adjustment::OmitSeed,
        Adjustment::OmitStreamOptions,
        Adjustment::OmitLimit,
        Adjustment::SecondSchemaMode,
    ];
    let adjustments = all
        .into_iter()
        .fold(Adjustments::default(), Adjustments::with);
    insta::assert_json_snapshot!(body(false, adjustments));
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

/// C-03, C-11: from any server, with the usage and its cached part.
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
async fn other_finish_reasons_than_stop_are_distinguished() {
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
async fn a_server_that_does_not_stream_is_supported() {
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

fn rejection(message: &str, param: &str) -> Reply {
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
async fn an_unsupported_parameter_is_omitted_from_then_on_for_that_model() {
    let server = Server::new([
        rejection(
            "Unsupported value: 'temperature' does not support 0.8.",
            "temperature",
        ),
        rejection(
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.",
            "max_tokens",
        ),
        rejection("Unknown parameter: 'seed'.", "seed"),
        ok(),
    ]);
    let registry = registry("openai", &server);
    assert_eq!("ok", text(&registry, plain_request("a")).await);
    assert_eq!("ok", text(&registry, plain_request("a")).await);
    assert_eq!("ok", text(&registry, plain_request("b")).await);
    let bodies = server.bodies();
    let minimal = vec![
        "model",
        "messages",
        "stream",
        "stream_options",
        "max_completion_tokens",
    ];
    assert_eq!(6, bodies.len());
    assert_eq!(minimal, keys(&bodies[3]));
    assert_eq!(minimal, keys(&bodies[4]));
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

fn no_schema() -> Reply {
    rejection(
        "response_format json_schema is not supported",
        "response_format",
    )
}

/// C-05
#[tokio::test]
async fn c05_a_server_without_schemas_gets_the_schema_as_text() {
    let server = Server::new([no_schema(), no_schema(), ok()]);
    let registry = registry("openai", &server);
    let (deltas, error) = call(&registry, request("a")).await;
    assert_eq!(None, error);
    let notice = "lab does not accept schemas for a; replies are checked but not constrained";
    assert!(
        deltas.contains(&Delta::Notice(notice.to_owned())),
        "{deltas:?}"
    );
    assert_eq!("ok", text(&registry, request("a")).await);
    let formats: Vec<Value> = server
        .bodies()
        .iter()
        .map(|body| body["response_format"]["type"].clone())
        .collect();
    assert_eq!(
        vec!["json_schema", "json_schema", "json_object", "json_object"],
        formats
    );
    let system = server.bodies()[2]["messages"][0]["content"].to_string();
    assert!(system.contains("maxLength"), "{system}");
}

/// C-18: servers in front of OpenAI reject the full schema and accept its strict dialect; no schema is lost.
#[tokio::test]
async fn c18_a_rejected_schema_is_sent_in_the_strict_dialect_first() {
    let server = Server::new([
        rejection(
            "Invalid schema for response_format 'reply': In context=(), 'oneOf' is not permitted.",
            "response_format",
        ),
        ok(),
    ]);
    let registry = registry("openai", &server);
    let (deltas, error) = call(&registry, request("a")).await;
    assert_eq!(None, error);
    assert!(
        !deltas.iter().any(|delta| matches!(delta, Delta::Notice(_))),
        "{deltas:?}"
    );
    let sent: Vec<(Value, bool)> = server
        .bodies()
        .iter()
        .map(|body| {
            let format = &body["response_format"];
            (
                format["type"].clone(),
                format.to_string().contains("\"maxLength\""),
            )
        })
        .collect();
    assert_eq!(
        vec![(json!("json_schema"), true), (json!("json_schema"), false)],
        sent
    );
}

/// Omitting `max_tokens` does not shorten a prompt.
#[tokio::test]
async fn a_rejection_for_length_omits_no_parameter() {
    let server = Server::new([rejection(
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

/// A model that thinks gets a higher limit once it has spent its limit on thinking.
#[tokio::test]
async fn a_reply_lost_to_thinking_is_retried_with_a_higher_limit() {
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
                reason: "the reply was truncated while the model was still thinking".to_owned(),
                wait: std::time::Duration::ZERO,
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
                ..Listed::default()
            },
            Listed {
                id: "b".to_owned(),
                created: None,
                ..Listed::default()
            },
        ],
        list
    );
    assert_eq!("GET /models", server.seen()[0].line);
}

/// Parts instead of text, an empty finish reason in every chunk, and unknown fields.
#[tokio::test]
async fn deviations_of_compatible_servers_are_tolerated() {
    let parts = json!([
        { "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }] },
        { "type": "text", "text": "Yes" },
    ]);
    let deviating = json!({ "choices": [{ "delta": { "content": parts, "reasoning": { "x": 1 } }, "finish_reason": "" }] });
    let server = Server::new([Reply::events(&[
        deviating.to_string(),
        chunk(&json!({ "content": "." })),
    ])]);
    let (deltas, error) = call(&registry("openai", &server), request("m")).await;
    assert_eq!(vec![Delta::Text("Yes.".to_owned())], deltas);
    // The empty reason does not count as a finish.
    assert!(
        matches!(
            error,
            Some(roundtable_engine::model::ModelError::Interrupted { .. })
        ),
        "{error:?}"
    );
}

fn tool_body(official: bool, offer: Offer) -> Value {
    let call = OpenAi { official }.call(&tool_request("m", offer), Adjustments::default());
    serde_json::from_slice(&call.body).unwrap()
}

/// M-15: OpenAI accepts tools with a schema. Other servers get the schema as text while tools may be called.
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

/// M-15: two calls with interleaved fragments of arguments.
#[tokio::test]
async fn m15_tool_calls_are_assembled() {
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
    let tool_calls = calls(&registry("openai", &server), tool_request("m", Offer::Open)).await;
    assert_eq!(
        vec![
            called("a", "search", "{\"query\":\"é\"}"),
            called("b", "calculate", "{\"query\":\"2\"}")
        ],
        tool_calls
    );
}

/// M-15: without an index, with the same index, without ids, with an object as arguments, or not streamed.
#[tokio::test]
async fn m15_calls_are_distinguished_by_index_or_id() {
    let function = |name: &str| json!({ "name": name, "arguments": "{}" });
    let expected = vec![called("a", "search", "{}"), called("b", "calculate", "{}")];
    for index in [json!(null), json!(0)] {
        let server = Server::new([Reply::events(&[
            call_chunk(&json!([{ "index": index, "id": "a", "function": function("search") }])),
            call_chunk(&json!([{ "index": index, "id": "b", "function": function("calculate") }])),
            finish("tool_calls"),
            "[DONE]".to_owned(),
        ])]);
        assert_eq!(
            expected,
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
    let tool_calls = calls(&registry("openai", &server), tool_request("m", Offer::Open)).await;
    assert_eq!(
        vec![
            called("call_1", "search", "{\"query\":\"x\"}"),
            called("call_2", "search", "{\"query\":\"y\"")
        ],
        tool_calls
    );
}

/// M-15: fragments of the interrupted attempt are discarded.
#[tokio::test]
async fn m15_an_interrupted_call_is_retried() {
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
    let retrying = registry_from(&format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n[retry]\nattempts = 2\nbase_ms = 1\n",
        server.address
    ));
    assert_eq!(
        vec![called("b", "search", "{}")],
        calls(&retrying, tool_request("m", Offer::Open)).await
    );
}

/// M-15: rejected tools are omitted, and the model replies without them.
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

/// C-03: header of the key, query and quirks of a provider count from the first call on.
#[tokio::test]
async fn c03_a_services_header_query_and_quirks_are_sent() {
    let server = Server::new([Reply::events(&[
        r#"{"choices":[{"delta":{"content":"{}"},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ])]);
    let section = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"LAB_KEY\"\nkey_header = \"api-key\"\n\
         query = \"api-version=preview\"\nquirks = [\"max_completion_tokens\", \"json_object\", \"no_seed\", \"no_stream_options\"]\n",
        server.address
    );
    let registry = registry_from(&section);
    call(&registry, request("m")).await;
    let seen = server.seen();
    let [seen] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert!(
        seen.line.contains("/chat/completions?api-version=preview"),
        "{}",
        seen.line
    );
    assert_eq!(
        Some("sk-very-secret"),
        seen.headers.get("api-key").map(String::as_str)
    );
    assert_eq!(None, seen.headers.get("authorization"));
    assert_eq!(json!(1500), seen.body["max_completion_tokens"]);
    assert_eq!(
        json!({ "type": "json_object" }),
        seen.body["response_format"]
    );
    for left_out in ["max_tokens", "seed", "stream_options"] {
        assert_eq!(None, seen.body.get(left_out), "{left_out}");
    }
}

/// Prices in the list of `OpenRouter` compare models; other shapes are ignored.
#[test]
fn listed_prices_are_read() {
    let body = json!({ "data": [
        { "id": "a/x", "pricing": { "prompt": "0.000002", "completion": "0.00001" } },
        { "id": "b/y", "pricing": { "input": 2.0, "output": 10.0 } },
        { "id": "c/z", "pricing": { "prompt": "-1", "completion": "free" } },
        { "id": "d" },
    ]});
    let format = OpenAi { official: false };
    let list = format.read_list(body.to_string().as_bytes()).unwrap();
    let prices: Vec<Option<f64>> = list
        .iter()
        .map(|model| model.price.map(Money::dollars))
        .collect();
    assert_eq!(vec![Some(4.0), None, None, None], prices);
}
