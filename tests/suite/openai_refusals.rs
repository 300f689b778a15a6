//! Refusals of the OpenAI-compatible API, each with its error.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Home, Serving};
use crate::openai_api::{CHAT, chat, debates, error, gated, model_server};

/// A message with an image.
fn image(url: &str) -> Value {
    json!([{ "role": "user", "content": [
            { "type": "text", "text": "What is this?" },
            { "type": "image_url", "image_url": { "url": url } },
        ] }])
}

const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";

/// Everything that is wrong with a request is a 400 with its parameter, and starts no debate.
#[test]
fn b03_bad_requests_are_refused() {
    let model = model_server();
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let cases = [
        (json!({ "n": 2 }), "n", "unsupported_parameter"),
        (json!({ "n": 0 }), "n", "unsupported_parameter"),
        (json!({ "messages": [] }), "messages", "invalid_request"),
        (json!({ "messages": "Hi" }), "messages", "invalid_request"),
        (
            json!({ "messages": [{ "role": "user", "content": " " }] }),
            "messages",
            "invalid_request",
        ),
        (
            json!({ "messages": [{ "role": "user" }] }),
            "messages",
            "invalid_request",
        ),
        (
            json!({ "messages": [{ "role": "system", "content": "Hi" }] }),
            "messages",
            "invalid_request",
        ),
        (
            json!({ "messages": [{ "role": "wizard", "content": "Hi" }] }),
            "messages[0].role",
            "invalid_request",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": 7 }] }),
            "messages[0].content",
            "invalid_request",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": [{ "type": "input_audio" }] }] }),
            "messages[0].content[0]",
            "unsupported_parameter",
        ),
        (
            json!({ "tools": [{ "type": "function", "function": { "name": "f" } }] }),
            "tools",
            "unsupported_parameter",
        ),
        (
            json!({ "functions": [{ "name": "f" }] }),
            "functions",
            "unsupported_parameter",
        ),
        (
            json!({ "temperature": 3 }),
            "temperature",
            "invalid_request",
        ),
        (json!({ "max_tokens": 0 }), "max_tokens", "invalid_request"),
        (
            json!({ "stop": ["a", "b", "c", "d", "e"] }),
            "stop",
            "invalid_request",
        ),
        (json!({ "stop": "" }), "stop", "invalid_request"),
        (
            json!({ "logprobs": true }),
            "logprobs",
            "unsupported_parameter",
        ),
        (
            json!({ "modalities": ["text", "audio"] }),
            "modalities",
            "unsupported_parameter",
        ),
        (
            json!({ "response_format": { "type": "xml" } }),
            "response_format",
            "invalid_request",
        ),
        (
            json!({ "response_format": { "type": "json_schema" } }),
            "response_format.json_schema",
            "invalid_request",
        ),
        (
            json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "x", "schema": { "$ref": "file:///etc/passwd" } } } }),
            "response_format.json_schema.schema",
            "invalid_request",
        ),
    ];
    for (more, param, code) in cases {
        let reply = serving.post(CHAT, &chat("roundtable/panel", &more));
        let error = error(&reply, 400, "invalid_request_error", code);
        assert_eq!(error["param"], param, "{more}: {error}");
    }
    assert_eq!(debates(&serving).len(), 0);
    assert_eq!(model.count(), 0);
}

/// Bodies that are no requests, and a question that is too long.
#[test]
fn b03_unreadable_requests_are_refused() {
    let model = model_server();
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let reply = serving.post(CHAT, &chat("roundtable/nothing", &json!({})));
    error(&reply, 404, "invalid_request_error", "model_not_found");
    for (body, content_type, status) in [
        ("{", "application/json", 400),
        ("[]", "application/json", 400),
        ("{}", "text/plain", 415),
    ] {
        let reply = serving.send(
            "POST",
            CHAT,
            &[("content-type", content_type)],
            body.as_bytes(),
        );
        assert_eq!(reply.status, status, "{}", reply.text());
        assert!(reply.json()["error"]["message"].is_string());
    }
    let method = serving.get(CHAT);
    error(&method, 405, "invalid_request_error", "method");
    let long = chat(
        "roundtable/panel",
        &json!({ "messages": [{ "role": "user", "content": "word ".repeat(400_000) }] }),
    );
    let reply = serving.post(CHAT, &long);
    assert!(matches!(reply.status, 400 | 413), "{}", reply.status);
    assert!(reply.json()["error"]["code"].is_string());
    assert_eq!(debates(&serving).len(), 0);
    assert_eq!(model.count(), 0);
}

/// Tools that must not be called do no harm. Images go to judges, if their model has vision.
#[test]
fn b03_unused_tools_are_accepted_and_images_need_vision() {
    let home = Home::with_model(&model_server());
    let serving = Serving::start(&home, &[]);
    for (url, param) in [
        (
            "https://example.org/x.png",
            "messages[0].content[1].image_url.url",
        ),
        (PNG, "messages"),
    ] {
        let reply = serving.post(
            CHAT,
            &chat("roundtable/panel", &json!({ "messages": image(url) })),
        );
        let refused = error(&reply, 400, "invalid_request_error", "invalid_request");
        assert_eq!(refused["param"], param);
    }
    assert_eq!(debates(&serving).len(), 0);
    let unused = json!({ "tools": [{ "type": "function" }], "tool_choice": "none" });
    assert_eq!(
        serving
            .post(CHAT, &chat("roundtable/panel", &unused))
            .status,
        200
    );
    let blind = serving.post(
        CHAT,
        &chat("roundtable/judge", &json!({ "messages": image(PNG) })),
    );
    let blind = error(&blind, 400, "invalid_request_error", "invalid_request");
    assert!(
        blind["message"].as_str().unwrap().contains("vision"),
        "{blind}"
    );
}

#[test]
fn b03_tokens_are_api_keys() {
    let (model, gate) = gated("panel_conclusion");
    let home = Home::with_model(&model);
    let reader = home.token("read");
    let add = |name: &str, more: &[&str]| {
        let args = [&["token", "add", name, "--scope", "run", "--json"], more].concat();
        home.run(&args).json()["token"].as_str().unwrap().to_owned()
    };
    let ada = add("ada", &["--own", "--max-running", "1"]);
    let bob = add("bob", &["--own"]);
    let expired = add("eve", &["--expires", "1s"]);
    let mut serving = Serving::start(&home, &[]);
    let body = chat("roundtable/panel", &json!({}));
    thread::sleep(Duration::from_millis(1100));
    for bad in [None, Some("sk-nothing".to_owned()), Some(expired)] {
        serving.token = bad;
        let reply = serving.post(CHAT, &body);
        error(&reply, 401, "authentication_error", "invalid_api_key");
        let reply = serving.get("/v1/models");
        error(&reply, 401, "authentication_error", "invalid_api_key");
    }
    serving.token = Some(reader);
    assert_eq!(serving.get("/v1/models").status, 200);
    error(&serving.post(CHAT, &body), 403, "permission_error", "scope");
    serving.token = Some(ada);
    let first = serving.post_stream(CHAT, &chat("roundtable/panel", &json!({ "stream": true })));
    Serving::until_asked(&model, "panel_conclusion");
    let quota = serving.post(CHAT, &body);
    error(&quota, 429, "insufficient_quota", "insufficient_quota");
    assert!(quota.header("retry-after").is_some());
    gate.open();
    assert!(first.last().unwrap().contains("[DONE]"));
    let answer = serving.post(CHAT, &body).json();
    let id = answer["roundtable"]["id"].as_str().unwrap().to_owned();
    assert_eq!(serving.state(&id), "complete");
    // The debate belongs to its token.
    serving.token = Some(bob);
    assert_eq!(serving.get(&format!("/api/v1/debates/{id}")).status, 404);
}

/// A seat whose provider is this server would debate without end.
#[test]
fn b03_recursion_is_refused() {
    let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = probe.local_addr().unwrap().port();
    drop(probe);
    for host in ["127.0.0.1", "localhost"] {
        let tiers =
            "\n[tiers]\ndeliberate = \"lab:roundtable/panel\"\nfast = \"lab:roundtable/panel\"\n";
        let home = Home::configured(&format!("http://{host}:{port}/v1"), tiers);
        let bind = format!("127.0.0.1:{port}");
        let serving = Serving::spawn(
            home.command(&["serve", "--bind", &bind])
                .stderr(std::process::Stdio::null()),
        );
        let reply = serving.post(CHAT, &chat("roundtable/panel", &json!({})));
        let error = error(&reply, 400, "invalid_request_error", "recursion");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("this server itself"),
            "{error}"
        );
        assert_eq!(debates(&serving).len(), 0);
    }
}

/// C-19: the limits of the server hold for a side job too, which is no debate.
#[test]
fn c19_a_side_job_stays_within_the_limits() {
    let model = model_server();
    let home = Home::configured(
        &model.url(),
        "max_tokens_total = 400\n\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n",
    );
    let serving = Serving::start(&home, &[]);
    let ask = |history: &str| {
        let prompt = format!(
            "### Task:\nGenerate a title.\nJSON format: {{ \"title\": \"x\" }}\n<chat_history>\n{history}\n</chat_history>"
        );
        let more = json!({ "messages": [{ "role": "user", "content": prompt }] });
        serving.post(CHAT, &chat("roundtable/ask", &more))
    };
    let short = ask("USER: Is tea good?");
    assert_eq!(short.status, 200, "{}", short.text());
    let long = ask(&"USER: Is tea good? ".repeat(100));
    assert_eq!(long.status, 400, "{}", long.text());
    assert!(long.text().contains("400 are left"), "{}", long.text());
    assert_eq!(model.count(), 1);
}
